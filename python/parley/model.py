"""A model: what it is, and what can be done with it."""
from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Union

import numpy as np

from . import _abi as c
from . import hearing
from ._library import Library, code_rows, copied, floats, ints, load, text
from ._options import OPEN, AlignOptions, Filled, HearOptions, HearStreamOptions, OpenOptions, SpeakOptions
from .audio import resampled
from .speech import Speech, SpeechStream
from .voice import Voice

if TYPE_CHECKING:
    from typing_extensions import Unpack

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Info:
    """What a model is: parley_info of core.h, lists as Python lists."""

    family: str
    model_type: str
    model_size: str
    dialect: str
    identity: str
    codec_identity: str
    languages: List[str]
    speakers: List[str]
    types: Dict[str, int]  # weight type: bytes
    parameters: int
    file_bytes: int
    memory_bytes: int
    groups: int
    codebook_size: int
    xvector_length: int
    context_length: int
    max_new_tokens: int
    sample_rate: int
    samples_per_frame: int
    has_talker: bool
    has_codec: bool
    has_tokenizer: bool
    has_speaker_encoder: bool
    has_codec_encoder: bool
    has_audio_encoder: bool

    @classmethod
    def from_c(cls, i: c.parley_info) -> "Info":
        values: Dict[str, Any] = {"languages": [i.languages[k].decode() for k in range(i.n_languages)],
                                  "speakers": [i.speakers[k].name.decode() for k in range(i.n_speakers)],
                                  "types": {i.types[k].type.decode(): i.types[k].bytes for k in range(i.n_types)}}
        for name in cls.__dataclass_fields__:
            if name not in values:
                value = getattr(i, name)
                values[name] = value.decode() if isinstance(value, bytes) else value
        return cls(**values)


def open_options(library: Library, given: Mapping[str, Any]) -> Filled:
    filled = Filled(c.parley_open_options())
    library.parley_open_options_init(filled.options)
    cpu = ctypes.c_int()
    if "cpu" in given and not library.parley_cpu_from_name(text(given["cpu"], "cpu"), cpu):
        raise ValueError(f"cpu: no level {given['cpu']!r}")
    filled.set({k: os.fspath(v) if k.endswith("_path") else v for k, v in given.items()}, OPEN - {"cpu"}, ("cpu",))
    if "cpu" in given:
        filled.options.cpu = cpu.value
    return filled


def inspect(path: PathLike, **options: "Unpack[OpenOptions]") -> Info:
    """What the files at `path` are, without loading weights."""
    library, found = load(), ctypes.POINTER(c.parley_info)()
    library.call("parley_inspect", os.fsencode(path), open_options(library, options).options, found)
    try:
        return Info.from_c(found.contents)
    finally:
        library.parley_info_free(found)


class Model:
    """An open model; threads may share it. Streams and engines of it are closed with it."""

    def __init__(self, path: PathLike, **options: "Unpack[OpenOptions]") -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        self.library = load()
        self._open: "weakref.WeakSet[Any]" = weakref.WeakSet()
        handle = ctypes.c_void_p()
        self.library.call("parley_model_open", os.fsencode(path), open_options(self.library, options).options, handle)
        self._handle = handle
        self.info = Info.from_c(self.library.parley_model_info(handle).contents)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the model is closed")
        return self._handle

    def opened(self, user: Any) -> None:
        """Notes a session that must be closed before the model."""
        self._open.add(user)

    def closed(self, user: Any) -> None:
        self._open.discard(user)

    def close(self) -> None:
        if self._handle is None:
            return
        for user in list(self._open):
            user.close()
        self.library.parley_model_close(self._handle)
        self._handle = None

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    # -------------------------------------------------------------- text to speech

    def speak(self, text: str, **options: "Unpack[SpeakOptions]") -> Speech:
        """Speaks a text as a whole."""
        with SpeechStream(self, text, options) as stream:
            pieces = list(stream)
            return stream.result(np.concatenate(pieces) if pieces else np.zeros(0, np.float32))

    def speak_stream(self, text: Union[str, Iterable[str]], **options: "Unpack[SpeakOptions]") -> SpeechStream:
        """Speaks while it is read: iterate over the result. `text` may be an iterable of texts, which are fetched as the speech goes on."""
        return SpeechStream(self, text, options)

    def clone(self, pcm: Any, rate: int, text: Optional[str] = None, name: str = "voice") -> Voice:
        """The voice of a recording. With the transcript of the recording in-context cloning is possible, which is closer; the model must have been
        opened with parts="clone"."""
        array = resampled(pcm, rate, self.info.sample_rate)
        voice = Voice(name, self.info.identity, self.voice_vector(array, self.info.sample_rate))
        if text:
            voice.codes, voice.text = self.encode(array, self.info.sample_rate), text
            voice.codebook_size, voice.codec = self.info.codebook_size, self.info.codec_identity
        return voice

    def voice_vector(self, pcm: Any, rate: int) -> np.ndarray:
        """Speaker vector float32 [xvector_length] of a recording."""
        array, vector = resampled(pcm, rate, self.info.sample_rate), np.zeros(max(1, self.info.xvector_length), np.float32)
        self.library.call("parley_voice_vector", self.handle, floats(array), array.size, None, floats(vector))
        return vector

    def check_voice(self, voice: Voice) -> None:
        """Raises ParleyError where the voice does not go with the model."""
        vector = np.ascontiguousarray(voice.vector, np.float32)
        v = c.parley_voice(name=text(voice.name, "name"), model=text(voice.model, "model"), text=text(voice.text, "text"), vector=floats(vector),
                           vector_length=vector.size, codec=text(voice.codec, "codec"), codebook_size=voice.codebook_size)
        if voice.codes is not None:
            codes = np.ascontiguousarray(voice.codes, np.int32)
            v.codes, (v.frames, v.groups) = ints(codes), codes.shape
        self.library.call("parley_voice_check", v, self.library.parley_model_info(self.handle))

    # -------------------------------------------------------------- codec and tokenizer

    def encode(self, pcm: Any, rate: int) -> np.ndarray:
        """Codes int32 [frames][groups] of a sound, by the codec's encoder."""
        array, codes, frames = resampled(pcm, rate, self.info.sample_rate), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        self.library.call("parley_codec_encode", self.handle, floats(array), array.size, None, codes, frames)
        result = copied(codes, (frames.value, self.info.groups), np.int32)
        self.library.parley_free_ids(self.handle, codes, frames.value * self.info.groups)
        return result

    def decode(self, codes: Any) -> np.ndarray:
        """PCM float32 of codes [frames][groups]."""
        rows, codec = code_rows(codes, self.info.groups), ctypes.c_void_p()
        pcm = np.zeros(len(rows) * self.info.samples_per_frame, np.float32)
        self.library.call("parley_codec_open", self.handle, None, codec)
        try:
            self.library.call("parley_codec_decode", codec, ints(rows), len(rows), floats(pcm))
        finally:
            self.library.parley_codec_close(codec)
        return pcm

    def tokenize(self, text: str, special_tokens: bool = False) -> np.ndarray:
        """Ids int32 of a text."""
        data, ids, count = text.encode(), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        self.library.call("parley_tokenize", self.handle, data, len(data), special_tokens, ids, count)
        result = copied(ids, (count.value,), np.int32)
        self.library.parley_free_ids(self.handle, ids, count.value)
        return result

    # -------------------------------------------------------------- speech to text

    def hear(self, pcm: Any, rate: int = c.PARLEY_ASR_RATE, **options: "Unpack[HearOptions]") -> hearing.Transcript:
        """The text of a recording."""
        return hearing.hear(self, resampled(pcm, rate, c.PARLEY_ASR_RATE), options)

    def hear_stream(self, **options: "Unpack[HearStreamOptions]") -> hearing.HearStream:
        """Hears while sound is pushed, 16 kHz."""
        return hearing.HearStream(self, options)

    def align(self, pcm: Any, text: str = "", rate: int = c.PARLEY_ASR_RATE, **options: "Unpack[AlignOptions]") -> hearing.Alignment:
        """When each word of a text is said."""
        return hearing.align(self, resampled(pcm, rate, c.PARLEY_ASR_RATE), text, options)
