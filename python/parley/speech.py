"""Text to speech: one session, as an iterator of PCM."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Union

import numpy as np

from . import _abi as c
from ._library import code_rows, copied, floats, ints, structure, text
from ._options import SAMPLING, SPEAK, Filled
from .voice import Voice

if TYPE_CHECKING:
    from .model import Model

CHUNK = 4096  # samples of one pull: about two frames


@dataclass(frozen=True)
class Speech:
    """A text that was spoken."""

    pcm: np.ndarray  # float32 [samples], mono
    rate: int  # Hz
    finish: str  # "stop", "length", "cancelled"
    seed: int
    codes: np.ndarray  # int32 [frames][groups]

    @property
    def seconds(self) -> float:
        return len(self.pcm) / self.rate


def speak_options(model: "Model", given: Mapping[str, Any], live: bool) -> Filled:
    """parley_tts_options of keyword arguments."""
    filled = Filled(c.parley_tts_options())
    model.library.parley_tts_options_init(model.handle, filled.options)
    filled.set(given, SPEAK, ("voice", "max_frames", *sorted(SAMPLING)))
    for name in SAMPLING & given.keys():
        for part in ("talker",) if name == "repetition_penalty" else ("talker", "predictor"):
            setattr(getattr(filled.options, part), name, given[name])
    if given.get("max_frames") is not None:
        filled.options.budget, filled.options.max_frames = c.PARLEY_BUDGET_FRAMES, given["max_frames"]
    if given.get("voice") is not None:
        set_voice(model, filled, given["voice"])
    filled.options.live_text = live
    return filled


def set_voice(model: "Model", filled: Filled, voice: Union[str, Voice, np.ndarray]) -> None:
    """A speaker of the model, a voice, or a vector."""
    options = filled.options
    if isinstance(voice, str):
        options.speaker = text(voice, "voice")
        return
    if isinstance(voice, Voice):
        model.check_voice(voice)
        if voice.codes is not None:
            codes = filled.keep(code_rows(voice.codes, model.info.groups))
            options.ref_codes, options.ref_frames, options.ref_text = ints(codes), len(codes), text(voice.text, "voice.text")
        voice = voice.vector
    vector = filled.keep(np.ascontiguousarray(voice, np.float32).ravel())
    options.xvector, options.xvector_length = floats(vector), vector.size


class SpeechStream:
    """Speaks while it is read: an iterator of float32 PCM, and a context manager. Made by Model.speak_stream(). With an iterable of texts the next one
    is fetched when the speech has caught up with what came before."""

    def __init__(self, model: "Model", words: Union[str, Iterable[str]], given: Mapping[str, Any]) -> None:
        self._model, self._library = model, model.library
        self._handle: Optional[ctypes.c_void_p] = None
        self._texts: Optional[Iterator[str]] = None if isinstance(words, str) else iter(words)
        filled = speak_options(model, given, live=self._texts is not None)
        handle = ctypes.c_void_p()
        self._library.call("parley_tts_open", model.handle, filled.options, handle)
        self._handle = handle
        model.opened(self)
        try:
            if isinstance(words, str):
                self._push(words)
                self._library.call("parley_tts_finish_text", handle)
        except BaseException:
            self.close()
            raise

    def _push(self, words: str) -> None:
        data = words.encode()
        self._library.call("parley_tts_push_text", self.handle, data, len(data))

    def _feed(self) -> None:
        """Gives a waiting session its next text, or the end."""
        words = next(self._texts, None) if self._texts is not None else None
        if words is not None:
            self._push(words)
            return
        self._texts = None
        self._library.call("parley_tts_finish_text", self.handle)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the stream is closed")
        return self._handle

    @property
    def rate(self) -> int:
        return self._model.info.sample_rate

    def __iter__(self) -> Iterator[np.ndarray]:
        return self

    def __next__(self) -> np.ndarray:
        pcm, count = np.empty(CHUNK, np.float32), ctypes.c_size_t()
        while True:
            self._library.call("parley_tts_pull", self.handle, floats(pcm), CHUNK, count)
            if count.value > 0:
                return pcm[: count.value]
            if not self._library.parley_tts_waiting(self.handle):
                raise StopIteration
            self._feed()

    def result(self, pcm: np.ndarray) -> Speech:
        """What was made so far, around the PCM that was read."""
        r = structure(c.parley_tts_result)
        self._library.parley_tts_result_get(self.handle, r)
        return Speech(pcm, self.rate, self._library.finish(r.finish), r.seed, copied(r.codes, (r.frames, r.groups), np.int32))

    def cancel(self) -> None:
        """Makes the speech end within a frame; any thread may call it while the stream is open."""
        self._library.parley_tts_cancel(self.handle)

    def close(self) -> None:
        if self._handle is not None:
            self._library.parley_tts_close(self._handle)
            self._handle = None
            self._model.closed(self)

    def __enter__(self) -> "SpeechStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
