"""Speech to text: whole recordings, streams, word times."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Mapping, Optional

import numpy as np

from . import _abi as c
from ._library import copied, floats, samples, structure, text
from ._options import ALIGN, HEAR, HEAR_STREAM, Filled

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Segment:
    """A piece of a recording; times in seconds."""

    start: float
    end: float
    text: str
    language: str
    finish: str
    no_speech: bool
    looped: bool
    echoed: bool
    spaced: bool
    token_ids: np.ndarray
    logprobs: np.ndarray


@dataclass(frozen=True)
class Transcript:
    """What was said in a recording."""

    text: str
    language: str
    finish: str
    seconds: float
    segments: List[Segment]


@dataclass(frozen=True)
class Update:
    """What a stream knows of its current segment; the first `stable` characters of the text will not change."""

    final: bool
    start: float
    end: float
    text: str
    stable: int
    language: str
    finish: str
    no_speech: bool
    spaced: bool


@dataclass(frozen=True)
class Word:
    text: str
    start: float
    end: float


@dataclass(frozen=True)
class Alignment:
    """Words with times; `reliable` false: the stamps contradict each other too often."""

    words: List[Word]
    reliable: bool


def hear_options(model: "Model", given: Mapping[str, Any], stream: bool) -> Filled:
    """parley_asr_options of keyword arguments."""
    filled = Filled(c.parley_asr_options())
    model.library.parley_asr_options_init(model.handle, filled.options)
    filled.set(given, HEAR_STREAM if stream else HEAR, ("max_tokens",))
    if given.get("max_tokens") is not None:
        filled.options.budget, filled.options.max_tokens = c.PARLEY_TOKENS_GIVEN, given["max_tokens"]
    filled.options.stream = stream
    return filled


def open_session(model: "Model", filled: Filled) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    model.library.call("parley_asr_open", model.handle, filled.options, handle)
    return handle


def segment_of(library: Any, s: c.parley_asr_segment) -> Segment:
    return Segment(s.start, s.end, s.text.decode(), s.language.decode(), library.finish(s.finish), s.no_speech, s.looped, s.echoed, s.spaced,
                   copied(s.token_ids, (s.n_tokens,), np.int32), copied(s.logprobs, (s.n_tokens,), np.float32))


def transcript_of(library: Any, r: c.parley_asr_result) -> Transcript:
    segments = [segment_of(library, r.segments[i]) for i in range(r.n_segments)]
    return Transcript(r.text.decode(), r.language.decode(), library.finish(r.finish), r.audio_seconds, segments)


def update_of(library: Any, u: c.parley_asr_update) -> Update:
    data = ctypes.string_at(u.text, u.length) if u.length else b""
    stable = len(data[: u.stable].decode("utf-8", "ignore"))
    return Update(u.final, u.start, u.end, data.decode(), stable, (u.language or b"").decode(), library.finish(u.finish), u.no_speech,
                  u.spaced)


def hear(model: "Model", pcm: np.ndarray, given: Mapping[str, Any]) -> Transcript:
    """One recording, step by step, so that an interrupt is seen between two steps."""
    library, handle = model.library, open_session(model, hear_options(model, given, stream=False))
    try:
        library.call("parley_asr_push", handle, floats(pcm), pcm.size)
        library.call("parley_asr_finish", handle)
        sessions, running, errors = (ctypes.c_void_p * 1)(handle), ctypes.c_size_t(1), c.parley_error()
        while running.value:
            if library.parley_asr_step(sessions, 1, running, errors) != c.PARLEY_OK or errors.status != c.PARLEY_OK:
                raise library.failure(errors)
        result = structure(c.parley_asr_result)
        library.parley_asr_result_get(handle, result)
        return transcript_of(library, result)
    finally:
        library.parley_asr_close(handle)


class HearStream:
    """Hears while sound comes. Made by Model.hear_stream(); push() and finish() give the updates that the sound brought."""

    def __init__(self, model: "Model", given: Mapping[str, Any]) -> None:
        self._model, self._library = model, model.library
        self._handle: Optional[ctypes.c_void_p] = None
        self._handle = open_session(model, hear_options(model, given, stream=True))
        model.opened(self)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the stream is closed")
        return self._handle

    def _updates(self) -> List[Update]:
        updates, update, got = [], structure(c.parley_asr_update), ctypes.c_bool(True)
        while True:
            self._library.call("parley_asr_poll", self.handle, update, got)
            if not got.value:
                return updates
            updates.append(update_of(self._library, update))

    def push(self, pcm: Any) -> List[Update]:
        """Adds samples at 16 kHz, in pieces of any size."""
        array = samples(pcm)
        if array.size:
            self._library.call("parley_asr_push", self.handle, floats(array), array.size)
        return self._updates()

    def finish(self) -> List[Update]:
        """Ends the sound."""
        self._library.call("parley_asr_finish", self.handle)
        return self._updates()

    def cancel(self) -> None:
        """Makes the stream end within a step; any thread may call it while the stream is open."""
        self._library.parley_asr_cancel(self.handle)

    def close(self) -> None:
        if self._handle is not None:
            self._library.parley_asr_close(self._handle)
            self._handle = None
            self._model.closed(self)

    def __enter__(self) -> "HearStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def align(model: "Model", pcm: np.ndarray, words: str, given: Mapping[str, Any]) -> Alignment:
    """Word times by an aligner."""
    library, filled = model.library, Filled(c.parley_align_options())
    library.parley_align_options_init(model.handle, filled.options)
    filled.set(given, ALIGN, ("units",))
    if "lexicon" in given:
        filled.options.lexicon_length = len(given["lexicon"].encode())
    if given.get("units") is not None:
        units = [text(u, "units") for u in given["units"]]
        filled.options.units, filled.options.n_units = filled.keep((ctypes.c_char_p * len(units))(*units)), len(units)
    data, found = words.encode(), ctypes.POINTER(c.parley_alignment)()
    library.call("parley_align", model.handle, floats(pcm), pcm.size, data, len(data), filled.options, found)
    try:
        a = found.contents
        return Alignment([Word(a.words[i].text.decode(), a.words[i].start, a.words[i].end) for i in range(a.n_words)], a.reliable)
    finally:
        library.parley_alignment_free(found)
