"""Parley: text to speech and speech to text with libparley.

    import parley

    with parley.Model("models/parley-small-tts") as model:
        speech = model.speak("Good morning.", seed=1)
        parley.write_wav("a.wav", speech.pcm, speech.rate)
        for pcm in model.speak_stream("Good morning."):
            play(pcm)
"""
from ._library import load
from .audio import read_audio, write_wav
from .engine import Engine, Request
from .errors import ParleyError
from .hearing import Alignment, HearStream, Segment, Transcript, Update, Word
from .model import Info, Model, inspect
from .speech import Speech, SpeechStream
from .voice import Voice

__all__ = ["Alignment", "Engine", "HearStream", "Info", "Model", "ParleyError", "Request", "Segment", "Speech", "SpeechStream", "Transcript",
           "Update", "Voice", "Word", "inspect", "load", "read_audio", "write_wav"]
__version__ = "0.1.0"
