"""Keyword arguments to options structures, by table."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, TypedDict, Union

import numpy as np

from . import _abi as c
from ._library import text

if TYPE_CHECKING:
    from .voice import Voice

CHOICES: Dict[str, Dict[str, int]] = {
    "kv": {"f32": c.PARLEY_KV_F32, "f16": c.PARLEY_KV_F16, "bf16": c.PARLEY_KV_BF16, "q8_0": c.PARLEY_KV_Q8_0},
    "activations": {"f32": c.PARLEY_ACTIVATIONS_F32, "int8": c.PARLEY_ACTIVATIONS_INT8},
    "layout": {"streaming": c.PARLEY_LAYOUT_STREAMING, "full": c.PARLEY_LAYOUT_FULL},
    "attention": {"windowed": c.PARLEY_ATTENTION_WINDOWED, "full": c.PARLEY_ATTENTION_FULL},
    "join": {"space": c.PARLEY_JOIN_SPACE, "none": c.PARLEY_JOIN_NONE},
    "parts": {"all": c.PARLEY_PARTS_ALL, "text": c.PARLEY_PARTS_TEXT, "codec": c.PARLEY_PARTS_CODEC, "speaker": c.PARLEY_PARTS_SPEAKER,
              "codec_encoder": c.PARLEY_PARTS_CODEC_ENCODER, "clone": c.PARLEY_PARTS_CLONE},
    "codec_type": {"stored": c.PARLEY_CODEC_STORED, "f32": c.PARLEY_CODEC_F32, "int8": c.PARLEY_CODEC_INT8},
    "splitter": {"qwen2": c.PARLEY_SPLITTER_QWEN2, "mistral": c.PARLEY_SPLITTER_MISTRAL},
}
OPEN = {"codec_path", "second_path", "codec_type", "parts", "cpu", "threads", "splitter"}
SPEAK = {"language", "instruct", "layout", "special_tokens", "allow_empty", "piece_length", "pause_seconds", "speed", "seed", "kv", "activations",
         "chunk_frames"}
SAMPLING = {"temperature", "top_p", "top_k", "repetition_penalty"}
HEAR = {"language", "context", "speech_gate", "segment_seconds", "attention", "join", "kv", "activations", "batch"}
HEAR_STREAM = {"language", "context", "speech_gate", "kv", "activations", "stream_chunk_seconds", "stream_segment_seconds", "stream_unfixed_chunks",
               "stream_rollback"}
ALIGN = {"language", "lexicon", "offset", "attention", "kv", "activations"}
ENGINE = {"max_active", "max_queued", "max_kv_bytes", "prompt_rows", "slice_seconds", "pcm_seconds", "sound_seconds", "text_bytes"}


class OpenOptions(TypedDict, total=False):
    """See parley_open_options in core.h."""

    codec_path: str
    second_path: str
    codec_type: str  # "stored", "f32", "int8"
    parts: str  # "all", "text", "codec", "speaker", "codec_encoder", "clone"
    cpu: str  # "best", "scalar", "avx2", ..
    threads: int
    splitter: str  # "qwen2", "mistral"


class SpeakOptions(TypedDict, total=False):
    """See parley_tts_options in tts.h."""

    voice: Union[str, "Voice", np.ndarray]  # a speaker's name, a voice, a vector
    language: str
    instruct: str
    layout: str  # "streaming", "full"
    special_tokens: bool
    allow_empty: bool
    piece_length: int
    pause_seconds: float
    speed: float  # 0.25 to 4
    seed: int
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    max_frames: int
    kv: str  # "f32", "f16", "bf16", "q8_0"
    activations: str  # "f32", "int8"
    chunk_frames: int


class HearOptions(TypedDict, total=False):
    """See parley_asr_options in asr.h."""

    language: str
    context: str
    max_tokens: int
    speech_gate: bool
    segment_seconds: float
    attention: str  # "windowed", "full"
    join: str  # "space", "none"
    kv: str
    activations: str
    batch: int


class HearStreamOptions(TypedDict, total=False):
    """See parley_asr_options in asr.h."""

    language: str
    context: str
    max_tokens: int
    speech_gate: bool
    kv: str
    activations: str
    stream_chunk_seconds: float
    stream_segment_seconds: float
    stream_unfixed_chunks: int
    stream_rollback: int


class AlignOptions(TypedDict, total=False):
    """See parley_align_options in asr.h. `units`: ready units in place of the text."""

    language: str
    units: Sequence[str]
    lexicon: str
    offset: float
    attention: str
    kv: str
    activations: str


class EngineOptions(TypedDict, total=False):
    """See parley_engine_options in engine.h."""

    max_active: int
    max_queued: int
    max_kv_bytes: int
    prompt_rows: int
    slice_seconds: float
    pcm_seconds: float
    sound_seconds: float
    text_bytes: int


class Filled:
    """An options structure and what its pointers need to stay alive."""

    def __init__(self, options: ctypes.Structure) -> None:
        self.options = options
        self.kept: List[Any] = []

    def set(self, given: Mapping[str, Any], known: set, also: Sequence[str] = ()) -> None:
        """Fields of the same name; a name that is neither known nor handled by the caller is a TypeError."""
        for name, value in given.items():
            if name in also:
                continue
            if name not in known:
                raise TypeError(f"unknown option {name}; there are: {', '.join(sorted(known.union(also)))}")
            setattr(self.options, name, self.converted(name, value))

    @staticmethod
    def converted(name: str, value: Any) -> Any:
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise ValueError(f"{name}: expected one of {', '.join(CHOICES[name])}, got {value!r}")
            return CHOICES[name][value]
        if isinstance(value, str):
            return text(value, name)
        if isinstance(value, int) and name == "seed" and not 0 <= value < 1 << 64:
            raise ValueError(f"seed: expected 0 to 2^64 - 1, got {value}")
        if isinstance(value, int) and name != "seed" and not -(1 << 31) <= value < 1 << 31 and name not in ("max_kv_bytes", "text_bytes"):
            raise ValueError(f"{name}: expected 32 bits, got {value}")
        return value

    def keep(self, value: Any) -> Any:
        self.kept.append(value)
        return value
