#!/usr/bin/env python3
"""The Python package against the embedded model and the golden tiny ones.

    package.py PACKAGE LIBRARY GOLDEN MODEL PARLEY
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

PACKAGE, LIBRARY, GOLDEN, MODEL, PARLEY = (os.path.abspath(p) for p in sys.argv[1:6])
sys.path.insert(0, PACKAGE)
os.environ["PARLEY_LIBRARY"] = LIBRARY

import numpy as np  # noqa: E402

import parley  # noqa: E402

TEXT = "Good morning."


def golden(*names):
    return os.path.join(GOLDEN, *names)


def model(name, **options):
    return parley.Model(golden("models", name), **options)


def clip(name):
    return parley.read_audio(golden("asr_clip_" + name, "audio.wav"), 16000)


class Library(unittest.TestCase):
    def python(self, code, **environment):
        full = {k: v for k, v in os.environ.items() if k != "PARLEY_LIBRARY"}
        return subprocess.run([sys.executable, "-c", code], env={**full, "PYTHONPATH": PACKAGE, **environment}, capture_output=True, text=True)

    def test_explicit_path(self):
        done = self.python(f"import parley; print(parley.load({LIBRARY!r}).parley_version().decode())", PARLEY_LIBRARY="/none.so")
        self.assertEqual(done.stdout.strip(), "0.1.0", done.stderr)

    def test_loader(self):
        done = self.python("import parley; parley.load()", LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_missing(self):
        done = self.python("import parley\ntry:\n    parley.load()\nexcept parley.ParleyError as e:\n    print(e.status, e.text)", PARLEY_LIBRARY="/none.so")
        self.assertIn("missing libparley cannot be loaded", done.stdout)
        self.assertIn("/none.so", done.stdout)

    def test_other_library(self):
        with self.assertRaises(parley.ParleyError) as caught:
            parley.load()
            parley.load("/other.so")
        self.assertEqual(caught.exception.status, "state")


class Speaking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = parley.Model(MODEL, threads=1)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def test_info(self):
        info = self.model.info
        self.assertEqual((info.family, info.sample_rate, info.samples_per_frame), ("qwen3_tts", 24000, 1920))
        self.assertEqual(info, parley.inspect(MODEL))
        self.assertIn("wren", [s.lower() for s in info.speakers])

    def test_whole_is_program(self):
        speech = self.model.speak(TEXT, seed=7, max_frames=12)
        self.assertEqual((speech.pcm.dtype, len(speech.pcm), speech.rate), (np.float32, len(speech.codes) * 1920, 24000))
        with tempfile.TemporaryDirectory() as here:
            wav = os.path.join(here, "a.wav")
            subprocess.run([PARLEY, "say", "-m", MODEL, "--seed", "7", "--max-frames", "12", "-o", wav, TEXT], check=True, capture_output=True)
            theirs = parley.read_audio(wav)
            parley.write_wav(os.path.join(here, "b.wav"), speech.pcm, speech.rate)
            ours = parley.read_audio(os.path.join(here, "b.wav"))
        np.testing.assert_allclose(ours, theirs, atol=1.5 / 32768)

    def test_stream_is_whole(self):
        whole = self.model.speak(TEXT, seed=3, max_frames=9)
        with self.model.speak_stream(TEXT, seed=3, max_frames=9) as stream:
            pieces = list(stream)
        self.assertGreater(len(pieces), 1)
        self.assertTrue(np.array_equal(np.concatenate(pieces), whole.pcm))
        self.assertEqual(whole.finish, "length")

    def test_live_text_is_whole(self):
        whole = self.model.speak(TEXT, seed=5, max_frames=6, layout="streaming")
        with self.model.speak_stream(iter(["Go", "od mor", "ning", "."]), seed=5, max_frames=6, layout="streaming") as stream:
            self.assertTrue(np.array_equal(np.concatenate(list(stream)), whole.pcm))

    def test_speed(self):
        plain = self.model.speak(TEXT, seed=3, max_frames=9)
        for speed in (0.5, 1.25):
            whole = self.model.speak(TEXT, seed=3, max_frames=9, speed=speed)
            with self.model.speak_stream(TEXT, seed=3, max_frames=9, speed=speed) as stream:
                self.assertTrue(np.array_equal(np.concatenate(list(stream)), whole.pcm))
            with parley.Engine(self.model) as engine:
                self.assertTrue(np.array_equal(engine.speak(TEXT, seed=3, max_frames=9, speed=speed).speech().pcm, whole.pcm))
            self.assertEqual(len(whole.pcm), int(len(plain.pcm) / speed + 0.5))
            self.assertTrue(np.array_equal(whole.codes, plain.codes))

    def test_seed(self):
        a, b, a2 = (self.model.speak(TEXT, seed=s, max_frames=5).codes for s in (1, 2, 1))
        self.assertTrue(np.array_equal(a, a2))
        self.assertFalse(np.array_equal(a, b))

    def test_greedy_ignores_seed(self):
        a, b = (self.model.speak(TEXT, seed=s, max_frames=5, temperature=0.0).codes for s in (1, 2))
        self.assertTrue(np.array_equal(a, b))

    def test_cancel(self):
        with self.model.speak_stream(TEXT * 3, seed=1) as stream:
            first = next(stream)
            thread = threading.Thread(target=stream.cancel)
            thread.start()
            thread.join()
            list(stream)
            self.assertEqual(stream.result(first).finish, "cancelled")

    def test_codec(self):
        speech = self.model.speak(TEXT, seed=1, max_frames=5)
        np.testing.assert_array_equal(self.model.decode(speech.codes), speech.pcm)
        for wrong in (speech.codes[:, :-1], speech.codes.astype(float), speech.codes[0]):
            self.assertRaises(ValueError, self.model.decode, wrong)
        with self.assertRaises(parley.ParleyError) as caught:
            self.model.decode(np.full_like(speech.codes, 100000))
        self.assertEqual(caught.exception.status, "argument")

    def test_tokenize(self):
        done = subprocess.run([PARLEY, "tokenize", "-m", MODEL, "<|im_end|> käse"], check=True, capture_output=True, text=True)
        self.assertEqual(self.model.tokenize("<|im_end|> käse").tolist(), json.loads(done.stdout))
        self.assertEqual(len(self.model.tokenize("<|im_end|>", special_tokens=True)), 1)

    def test_errors(self):
        for options, kind, words in (({"voice": "nobody"}, parley.ParleyError, "nobody"), ({"language": "klingon"}, parley.ParleyError, "klingon"),
                                     ({"loudness": 3}, TypeError, "loudness"), ({"kv": "f8"}, ValueError, "f8"), ({"seed": -1}, ValueError, "seed"),
                                     ({"instruct": "a\0b"}, ValueError, "NUL"), ({"temperature": 99.0}, parley.ParleyError, "temperature"), ({"speed": 0.1}, parley.ParleyError, "0.25 to 4")):
            with self.subTest(options), self.assertRaisesRegex(kind, words):
                self.model.speak(TEXT, **options)
        with self.assertRaises(parley.ParleyError) as caught:
            parley.Model("/none")
        self.assertIn("/none", caught.exception.text)

    def test_closed(self):
        m = parley.Model(MODEL, threads=1)
        stream = m.speak_stream(TEXT)
        m.close()
        m.close()
        self.assertRaises(ValueError, next, stream)
        self.assertRaises(ValueError, m.speak, TEXT)

    def test_engine(self):
        alone = [self.model.speak(TEXT, seed=s, max_frames=6).pcm for s in (1, 2)]
        with parley.Engine(self.model, max_active=2) as engine:
            requests = [engine.speak(TEXT, seed=s, max_frames=6) for s in (1, 2)]
            for request, pcm in zip(requests, alone):
                self.assertTrue(np.array_equal(request.speech().pcm, pcm))
            with engine.speak(TEXT * 5, seed=1) as request:
                next(request)
                request.cancel()
                self.assertEqual(request.speech().finish, "cancelled")
            with self.assertRaisesRegex(parley.ParleyError, "nobody"):
                engine.speak(TEXT, voice="nobody")


class Cloning(unittest.TestCase):
    def test_clone(self):
        sound = parley.read_audio(golden("asr_clip_chirp", "audio.wav"))
        with model("tts_a_base", parts="clone") as m:
            voice = m.clone(sound, 24000, text="hello world", name="me")
            self.assertEqual((voice.vector.shape, voice.codes.shape[1]), ((m.info.xvector_length,), m.info.groups))
            np.testing.assert_array_equal(m.encode(sound, 24000), voice.codes)
            again = parley.Voice.from_bytes(voice.to_bytes())
            for name in ("name", "model", "text", "codebook_size", "codec"):
                self.assertEqual(getattr(again, name), getattr(voice, name))
            np.testing.assert_array_equal(again.codes, voice.codes)
            said = [m.speak("hello", voice=v, seed=1, max_frames=3).codes for v in (voice, again, voice.vector)]
            np.testing.assert_array_equal(said[0], said[1])
            self.assertEqual(said[2].shape, said[0].shape)
            voice.vector = voice.vector[:-1]
            self.assertRaises(parley.ParleyError, m.speak, "hello", voice=voice)
        with self.assertRaises(parley.ParleyError) as caught:
            parley.Voice.from_bytes(b"no voice at all")
        self.assertEqual(caught.exception.status, "format")


class Hearing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = model("asr_a", threads=1)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def test_golden(self):
        with open(golden("asr_text_a_plain", "case.json"), encoding="utf-8") as file:
            case = json.load(file)
        said = self.model.hear(clip("chirp"))
        self.assertEqual((said.text, said.language, said.finish), (case["text"], case["language"], "stop"))
        self.assertEqual(said.segments[0].token_ids.tolist(), case["generated_ids"])
        self.assertAlmostEqual(said.seconds, len(clip("chirp")) / 16000)

    def test_forms(self):
        sound = clip("chirp")
        wanted = self.model.hear(sound).text
        whole = np.clip(np.rint(sound * 32768), -32768, 32767).astype(np.int16)
        for name, pcm in (("int16", whole), ("float64", sound.astype(np.float64)), ("two channels", np.stack([sound, sound], 1))):
            with self.subTest(name):
                self.assertEqual(self.model.hear(pcm).text, wanted)
        for wrong in (np.zeros((2, 2, 2)), np.zeros(100, np.uint8)):
            self.assertRaises(ValueError, self.model.hear, wrong)
        with self.assertRaises(parley.ParleyError):
            self.model.hear(np.array([0.0, np.nan] * 4000))

    def test_stream(self):
        sound = clip("chirp")
        results = []
        for size in (1600, len(sound)):
            with self.model.hear_stream(stream_chunk_seconds=0.5) as stream:
                updates = [u for at in range(0, len(sound), size) for u in stream.push(sound[at:at + size])] + stream.finish()
            self.assertTrue(updates[-1].final)
            self.assertTrue(all(0 <= u.stable <= len(u.text) for u in updates))
            results.append(updates)
        self.assertEqual(results[0], results[1])

    def test_errors(self):
        for options, kind, words in (({"language": "klingon"}, parley.ParleyError, "klingon"), ({"voice": "x"}, TypeError, "voice"),
                                     ({"attention": "some"}, ValueError, "attention")):
            with self.subTest(options), self.assertRaisesRegex(kind, words):
                self.model.hear(clip("chirp"), **options)
        with self.assertRaises(parley.ParleyError):
            self.model.hear(np.zeros(0))
        with self.assertRaises(parley.ParleyError) as caught:
            self.model.speak("hello")
        self.assertEqual(caught.exception.status, "family")

    def test_engine(self):
        alone = self.model.hear(clip("chirp"))
        with parley.Engine(self.model) as engine:
            requests = [engine.hear(clip(n)) for n in ("chirp", "bells", "chirp")]
            heard = [r.transcript() for r in requests]
            self.assertEqual((heard[0].text, heard[2].text), (alone.text, alone.text))
            self.assertRaises(ValueError, requests[0].speech)

    def test_align(self):
        with model("align_a") as m:
            found = m.align(clip("chirp"), "hello brave world", language="english")
            self.assertEqual([w.text for w in found.words], ["hello", "brave", "world"])
            given = m.align(clip("chirp"), units=["hello", "brave", "world"], offset=1.0)
            for a, b in zip(found.words, given.words):
                self.assertAlmostEqual(a.start + 1.0, b.start, places=3)
            times = [t for w in found.words for t in (w.start, w.end)]
            self.assertEqual(times, sorted(times))
            self.assertRaises(parley.ParleyError, m.align, clip("chirp"), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
