"""Voices: a speaker vector and, for in-context cloning, the codes of a recording with their transcript."""
from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from . import _abi as c
from ._library import copied, floats, ints, load, text


@dataclass
class Voice:
    """What a voice file holds (docs/VOICES.md)."""

    name: str
    model: str  # identity of the model that made it
    vector: np.ndarray  # float32 [vector_length]
    text: str = ""  # transcript of the recording
    codes: Optional[np.ndarray] = None  # int32 [frames][groups]
    codebook_size: int = 0
    codec: str = ""

    def to_bytes(self) -> bytes:
        """The bytes of a voice file."""
        library, vector = load(), np.ascontiguousarray(self.vector, np.float32)
        voice = c.parley_voice(name=text(self.name, "name"), model=text(self.model, "model"), text=text(self.text, "text"), vector=floats(vector),
                               vector_length=vector.size, codec=text(self.codec, "codec"))
        if self.codes is not None:
            codes = np.ascontiguousarray(self.codes, np.int32)
            voice.codes, (voice.frames, voice.groups), voice.codebook_size = ints(codes), codes.shape, self.codebook_size
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        library.call("parley_voice_write", voice, data, size)
        result = ctypes.string_at(data, size.value)
        library.parley_voice_bytes_free(data, size)
        return result

    @classmethod
    def from_bytes(cls, data: bytes) -> "Voice":
        """Reads the bytes of a voice file."""
        library, found = load(), ctypes.POINTER(c.parley_voice)()
        library.call("parley_voice_read", data, len(data), found)
        try:
            return cls.from_c(found.contents)
        finally:
            library.parley_voice_free(found)

    @classmethod
    def from_c(cls, v: c.parley_voice) -> "Voice":
        codes = copied(v.codes, (v.frames, v.groups), np.int32) if v.codes else None
        return cls((v.name or b"").decode(), (v.model or b"").decode(), copied(v.vector, (v.vector_length,), np.float32), (v.text or b"").decode(),
                   codes, v.codebook_size, (v.codec or b"").decode())

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a voice file."""
        data = self.to_bytes()
        with open(path, "wb") as file:
            file.write(data)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Voice":
        """Reads a voice file."""
        with open(path, "rb") as file:
            return cls.from_bytes(file.read())
