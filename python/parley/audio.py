"""Sound files and rates."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Union

import numpy as np

from . import _abi as c
from ._library import copied, load, samples


def read_audio(source: Union[str, "os.PathLike[str]", bytes], rate: int = 24000) -> np.ndarray:
    """A sound file (path or bytes) as mono float32 at `rate`."""
    library, options = load(), c.parley_audio_options()
    library.parley_audio_options_init(options)
    options.rate = rate
    audio = c.parley_audio()
    if isinstance(source, bytes):
        library.call("parley_audio_read_memory", b"memory", source, len(source), options, audio)
    else:
        library.call("parley_audio_read_file", os.fsencode(source), options, audio)
    return taken(audio)


def resampled(pcm: Any, rate: int, wanted: int) -> np.ndarray:
    """Samples of any form as mono float32 at the rate wanted."""
    array = samples(pcm)
    if rate == wanted or array.size == 0:
        return array
    library, options = load(), c.parley_audio_options()
    library.parley_audio_options_init(options)
    options.form, options.raw_rate, options.raw_channels, options.rate = c.PARLEY_AUDIO_RAW_F32LE, rate, 1, wanted
    audio = c.parley_audio()
    library.call("parley_audio_read_memory", b"samples", array.ctypes.data, array.nbytes, options, audio)
    return taken(audio)


def taken(audio: c.parley_audio) -> np.ndarray:
    pcm = copied(audio.samples, (audio.count,), np.float32)
    load().parley_audio_free(ctypes.byref(audio))
    return pcm


def int16(pcm: np.ndarray) -> np.ndarray:
    """float32 samples as int16, rounded and clipped."""
    return np.clip(np.rint(pcm * 32767.0), -32768, 32767).astype("<i2")


def write_wav(path: Union[str, "os.PathLike[str]"], pcm: np.ndarray, rate: int = 24000) -> None:
    """Writes mono 16-bit WAV."""
    import wave

    with wave.open(os.fspath(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(int16(pcm).tobytes())
