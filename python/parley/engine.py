"""Many requests at once over one model."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

import numpy as np

from . import _abi as c
from ._library import floats, structure
from ._options import ENGINE, EngineOptions, Filled, HearOptions, SpeakOptions
from .audio import resampled
from .hearing import Transcript, Update, hear_options, transcript_of, update_of
from .model import Model
from .speech import Speech, speak_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

WAIT = 0.2  # seconds in C between two looks for an interrupt


class Request:
    """A request of an engine: an iterator of PCM (speak) or of updates (hear), then a result."""

    def __init__(self, engine: "Engine", handle: ctypes.c_void_p) -> None:
        self._engine, self._library, self._handle = engine, engine.library, handle
        self._ended = False
        engine.requests.add(self)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the request has been released")
        return self._handle

    def __iter__(self) -> Iterator[Union[np.ndarray, Update]]:
        return self

    def __next__(self) -> Union[np.ndarray, Update]:
        event = structure(c.parley_event)
        while not self._ended:
            kind = self._library.parley_request_next(self.handle, WAIT, event)
            if kind == c.PARLEY_EVENT_PCM:
                return np.ctypeslib.as_array(event.pcm, shape=(event.samples,)).copy()
            if kind == c.PARLEY_EVENT_UPDATE:
                return update_of(self._library, event.update)
            if kind == c.PARLEY_EVENT_END:
                self._ended = True
                if event.status not in (c.PARLEY_OK, c.PARLEY_CANCELLED):
                    raise self._library.failure(event.error.contents)
        raise StopIteration

    def speech(self) -> Speech:
        """Reads to the end; the speech of what was not read before."""
        pieces = list(self)
        result = structure(c.parley_tts_result)
        if not self._library.parley_request_speech(self.handle, result):
            raise ValueError("this request does not speak")
        pcm = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)
        codes = np.ctypeslib.as_array(result.codes, shape=(result.frames * result.groups,)).copy() if result.frames else np.zeros(0, np.int32)
        return Speech(pcm, self._engine.model.info.sample_rate, self._library.finish(result.finish), result.seed, codes.reshape(-1, result.groups or 1))

    def transcript(self) -> Transcript:
        """Reads to the end; what was heard."""
        for _ in self:
            pass
        result = structure(c.parley_asr_result)
        if not self._library.parley_request_recognition(self.handle, result):
            raise ValueError("this request does not hear")
        return transcript_of(self._library, result)

    def cancel(self) -> None:
        """Makes the request end within a turn."""
        self._library.parley_request_cancel(self.handle)

    def close(self) -> None:
        if self._handle is not None:
            self._library.parley_request_release(self._handle)
            self._handle = None
            self._engine.requests.discard(self)

    def __enter__(self) -> "Request":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Engine:
    """Advances requests of one model together, each as if it were alone. Closing it ends and releases its requests."""

    def __init__(self, model: Model, **options: "Unpack[EngineOptions]") -> None:
        self.model, self.library = model, model.library
        self._handle: Optional[ctypes.c_void_p] = None
        self.requests: set = set()
        filled, handle = Filled(c.parley_engine_options()), ctypes.c_void_p()
        self.library.parley_engine_options_init(filled.options)
        filled.set(options, ENGINE)
        self.library.call("parley_engine_open", model.handle, filled.options, handle)
        self._handle = handle
        model.opened(self)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the engine is closed")
        return self._handle

    def speak(self, text: str, deadline: float = 0.0, **options: "Unpack[SpeakOptions]") -> Request:
        """Queues a text to be spoken."""
        request = self._request("parley_engine_speak", speak_options(self.model, options, live=False), deadline)
        data = text.encode()
        self._bring(request, ("parley_request_push_text", data, len(data)), ("parley_request_finish_text",))
        return request

    def hear(self, pcm: Any, rate: int = c.PARLEY_ASR_RATE, deadline: float = 0.0, **options: "Unpack[HearOptions]") -> Request:
        """Queues a recording to be heard; each segment is a final update."""
        array = resampled(pcm, rate, c.PARLEY_ASR_RATE)
        request = self._request("parley_engine_hear", hear_options(self.model, options, stream=False), deadline)
        self._bring(request, ("parley_request_push_sound", floats(array), array.size), ("parley_request_finish_sound",))
        return request

    def _request(self, function: str, filled: Filled, deadline: float) -> Request:
        terms, handle = c.parley_request_options(), ctypes.c_void_p()
        self.library.parley_request_options_init(terms)
        terms.deadline_seconds = deadline
        self.library.call(function, self.handle, filled.options, terms, handle)
        return Request(self, handle)

    def _bring(self, request: Request, *calls: tuple) -> None:
        try:
            for name, *arguments in calls:
                self.library.call(name, request.handle, *arguments)
        except BaseException:
            request.close()
            raise

    def close(self) -> None:
        if self._handle is None:
            return
        for request in list(self.requests):
            request.close()
        self.library.parley_engine_close(self._handle)
        self._handle = None
        self.model.closed(self)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
