"""The C interface as ctypes sees it. Made by generate.py from include/parley: do not edit."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_ubyte,
                    c_uint64, c_void_p)

PARLEY_VERSION_MAJOR = 0
PARLEY_VERSION_MINOR = 1
PARLEY_VERSION_PATCH = 0
PARLEY_OK = 0
PARLEY_ARGUMENT = 1
PARLEY_STATE = 2
PARLEY_IO = 3
PARLEY_FORMAT = 4
PARLEY_MISSING = 5
PARLEY_SHAPE = 6
PARLEY_UNSUPPORTED = 7
PARLEY_FAMILY = 8
PARLEY_VALUE = 9
PARLEY_MEMORY = 10
PARLEY_LIMIT = 11
PARLEY_CANCELLED = 12
PARLEY_DEVICE = 13
PARLEY_INTERNAL = 14
PARLEY_BUSY = 15
PARLEY_LATE = 16
PARLEY_LOG_ERROR = 0
PARLEY_LOG_WARNING = 1
PARLEY_LOG_INFO = 2
PARLEY_LOG_DEBUG = 3
PARLEY_CPU_BEST = 0
PARLEY_CPU_SCALAR = 1
PARLEY_CPU_AVX2 = 2
PARLEY_CPU_AVX512 = 3
PARLEY_CPU_AVX512VNNI = 4
PARLEY_CPU_AMX = 5
PARLEY_CPU_NEON = 6
PARLEY_CPU_DOTPROD = 7
PARLEY_CPU_I8MM = 8
PARLEY_SPLITTER_QWEN2 = 0
PARLEY_SPLITTER_MISTRAL = 1
PARLEY_PARTS_ALL = 0
PARLEY_PARTS_TEXT = 1
PARLEY_PARTS_CODEC = 2
PARLEY_PARTS_SPEAKER = 3
PARLEY_PARTS_CODEC_ENCODER = 4
PARLEY_PARTS_CLONE = 5
PARLEY_CODEC_STORED = 0
PARLEY_CODEC_F32 = 1
PARLEY_CODEC_INT8 = 2
PARLEY_FINDING_MISSING = 0
PARLEY_FINDING_SHAPE = 1
PARLEY_FINDING_TYPE = 2
PARLEY_FINDING_VALUE = 3
PARLEY_FINDING_UNUSED = 4
PARLEY_LAYOUT_STREAMING = 0
PARLEY_LAYOUT_FULL = 1
PARLEY_KV_F32 = 0
PARLEY_KV_F16 = 1
PARLEY_KV_BF16 = 2
PARLEY_KV_Q8_0 = 3
PARLEY_ACTIVATIONS_F32 = 0
PARLEY_ACTIVATIONS_INT8 = 1
PARLEY_BUDGET_TEXT = 0
PARLEY_BUDGET_FRAMES = 1
PARLEY_FINISH_NONE = 0
PARLEY_FINISH_STOP = 1
PARLEY_FINISH_LENGTH = 2
PARLEY_FINISH_CANCELLED = 3
PARLEY_AUDIO_FILE = 0
PARLEY_AUDIO_RAW_S16LE = 1
PARLEY_AUDIO_RAW_F32LE = 2
PARLEY_ASR_RATE = 16000
PARLEY_ATTENTION_WINDOWED = 0
PARLEY_ATTENTION_FULL = 1
PARLEY_JOIN_SPACE = 0
PARLEY_JOIN_NONE = 1
PARLEY_TOKENS_FROM_LENGTH = 0
PARLEY_TOKENS_GIVEN = 1
PARLEY_UNITS_GIVEN = 0
PARLEY_UNITS_BLANKS = 1
PARLEY_UNITS_SCRIPTS = 2
PARLEY_UNITS_SPLITTER = 3
PARLEY_UNITS_LEXICON = 4
PARLEY_VOICE_HASH_TEXT = 65
PARLEY_EVENT_NONE = 0
PARLEY_EVENT_PCM = 1
PARLEY_EVENT_UPDATE = 2
PARLEY_EVENT_END = 3
PARLEY_REQUEST_OPEN = 0
PARLEY_REQUEST_QUEUED = 1
PARLEY_REQUEST_ACTIVE = 2
PARLEY_REQUEST_ENDED = 3
PARLEY_LATENCY_BUCKETS = 12


class parley_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("position", c_uint64),
        ("text", c_char * 500),
    ]


class parley_allocator(Structure):
    _fields_ = [
        ("alloc", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)),
        ("release", CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)),
        ("context", c_void_p),
    ]


class parley_logger(Structure):
    _fields_ = [
        ("log", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("context", c_void_p),
    ]


class parley_open_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("codec_path", c_char_p),
        ("second_path", c_char_p),
        ("parts", c_int),
        ("cpu", c_int),
        ("threads", c_int32),
        ("splitter", c_int),
        ("codec_type", c_int),
        ("allocator", POINTER(parley_allocator)),
        ("logger", POINTER(parley_logger)),
    ]


class parley_memory_file(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("size", c_size_t),
    ]


class parley_speaker(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dialect", c_char_p),
    ]


class parley_type_use(Structure):
    _fields_ = [
        ("type", c_char_p),
        ("tensors", c_uint64),
        ("bytes", c_uint64),
    ]


class parley_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("family", c_char_p),
        ("dialect", c_char_p),
        ("model_type", c_char_p),
        ("model_size", c_char_p),
        ("identity", c_char_p),
        ("codec_identity", c_char_p),
        ("has_talker", c_bool),
        ("has_predictor", c_bool),
        ("has_speaker_encoder", c_bool),
        ("has_codec", c_bool),
        ("has_tokenizer", c_bool),
        ("has_codec_encoder", c_bool),
        ("has_audio_encoder", c_bool),
        ("has_text_decoder", c_bool),
        ("languages", POINTER(c_char_p)),
        ("n_languages", c_size_t),
        ("speakers", POINTER(parley_speaker)),
        ("n_speakers", c_size_t),
        ("types", POINTER(parley_type_use)),
        ("n_types", c_size_t),
        ("parameters", c_uint64),
        ("file_bytes", c_uint64),
        ("packed_bytes", c_uint64),
        ("kv_bytes_per_frame", c_uint64),
        ("memory_bytes", c_uint64),
        ("talker_width", c_int32),
        ("talker_layers", c_int32),
        ("predictor_width", c_int32),
        ("predictor_layers", c_int32),
        ("encoder_width", c_int32),
        ("encoder_layers", c_int32),
        ("decoder_width", c_int32),
        ("decoder_layers", c_int32),
        ("groups", c_int32),
        ("codebook_size", c_int32),
        ("text_vocabulary", c_int32),
        ("xvector_length", c_int32),
        ("context_length", c_int32),
        ("max_new_tokens", c_int32),
        ("sample_rate", c_int32),
        ("samples_per_frame", c_int32),
    ]


class parley_finding(Structure):
    _fields_ = [
        ("kind", c_int),
        ("tensor", c_char_p),
        ("text", c_char_p),
    ]


class parley_bench_row(Structure):
    _fields_ = [
        ("stage", c_char_p),
        ("shape", c_char_p),
        ("type", c_char_p),
        ("level", c_char_p),
        ("threads", c_int32),
        ("seconds", c_double),
        ("seconds_low", c_double),
        ("seconds_high", c_double),
        ("gigabytes", c_double),
        ("giga_operations", c_double),
        ("share", c_double),
        ("limit", c_char_p),
    ]


class parley_bench_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("runs", c_int32),
        ("prompt", c_int32),
        ("frames", c_int32),
        ("int8_activations", c_bool),
    ]


class parley_sampling(Structure):
    _fields_ = [
        ("temperature", c_float),
        ("top_p", c_float),
        ("top_k", c_int32),
        ("repetition_penalty", c_float),
    ]


class parley_tts_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("speaker", c_char_p),
        ("xvector", POINTER(c_float)),
        ("xvector_length", c_size_t),
        ("ref_codes", POINTER(c_int32)),
        ("ref_frames", c_size_t),
        ("ref_text", c_char_p),
        ("reference", c_void_p),
        ("language", c_char_p),
        ("instruct", c_char_p),
        ("layout", c_int),
        ("special_tokens", c_bool),
        ("allow_empty", c_bool),
        ("live_text", c_bool),
        ("piece_length", c_int32),
        ("pause_seconds", c_double),
        ("speed", c_double),
        ("talker", parley_sampling),
        ("predictor", parley_sampling),
        ("seed", c_uint64),
        ("budget", c_int),
        ("max_frames", c_int32),
        ("teacher", POINTER(c_int32)),
        ("teacher_frames", c_size_t),
        ("kv", c_int),
        ("activations", c_int),
        ("chunk_frames", c_int32),
        ("pcm", c_bool),
        ("exact_cut", c_bool),
        ("tap", CFUNCTYPE(None, c_void_p, c_char_p, c_char, c_void_p, POINTER(c_int64), c_int)),
        ("tap_context", c_void_p),
    ]


class parley_tts_times(Structure):
    _fields_ = [
        ("prefill", c_double),
        ("first_frame", c_double),
        ("talker", c_double),
        ("predictor", c_double),
        ("codec", c_double),
        ("total", c_double),
    ]


class parley_tts_result(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("finish", c_int),
        ("seed", c_uint64),
        ("prompt_length", c_int32),
        ("frame_budget", c_int32),
        ("frames", c_size_t),
        ("codes", POINTER(c_int32)),
        ("groups", c_int32),
        ("text_ids", POINTER(c_int32)),
        ("n_text_ids", c_size_t),
        ("pieces", c_int32),
        ("samples", c_uint64),
        ("kv_bytes", c_uint64),
        ("times", parley_tts_times),
        ("teacher_choices", c_uint64 * 2),
        ("teacher_agreed", c_uint64 * 2),
    ]


class parley_codec_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("reference_schedule", c_bool),
        ("tap", CFUNCTYPE(None, c_void_p, c_char_p, c_char, c_void_p, POINTER(c_int64), c_int)),
        ("tap_context", c_void_p),
    ]


class parley_audio_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("form", c_int),
        ("raw_rate", c_int32),
        ("raw_channels", c_int32),
        ("rate", c_int32),
        ("max_seconds", c_double),
        ("allocator", POINTER(parley_allocator)),
    ]


class parley_audio(Structure):
    _fields_ = [
        ("samples", POINTER(c_float)),
        ("count", c_size_t),
        ("rate", c_int32),
        ("source_rate", c_int32),
        ("source_channels", c_int32),
        ("source_frames", c_uint64),
        ("source_format", c_char * 48),
        ("allocator", parley_allocator),
    ]


class parley_audio_stream(Structure):
    _fields_ = [
        ("read", CFUNCTYPE(c_int64, c_void_p, c_void_p, c_size_t)),
        ("context", c_void_p),
    ]


class parley_asr_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("language", c_char_p),
        ("context", c_char_p),
        ("budget", c_int),
        ("max_tokens", c_int32),
        ("speech_gate", c_bool),
        ("segment_seconds", c_double),
        ("attention", c_int),
        ("join", c_int),
        ("kv", c_int),
        ("activations", c_int),
        ("batch", c_int32),
        ("teacher", POINTER(c_int32)),
        ("n_teacher", c_size_t),
        ("tap", CFUNCTYPE(None, c_void_p, c_char_p, c_char, c_void_p, POINTER(c_int64), c_int)),
        ("tap_context", c_void_p),
        ("stream", c_bool),
        ("stream_chunk_seconds", c_double),
        ("stream_segment_seconds", c_double),
        ("stream_unfixed_chunks", c_int32),
        ("stream_rollback", c_int32),
    ]


class parley_asr_word(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("start", c_double),
        ("end", c_double),
    ]


class parley_asr_segment(Structure):
    _fields_ = [
        ("start", c_double),
        ("end", c_double),
        ("text", c_char_p),
        ("language", c_char_p),
        ("finish", c_int),
        ("no_speech", c_bool),
        ("looped", c_bool),
        ("echoed", c_bool),
        ("spaced", c_bool),
        ("token_ids", POINTER(c_int32)),
        ("logprobs", POINTER(c_float)),
        ("n_tokens", c_size_t),
    ]


class parley_asr_times(Structure):
    _fields_ = [
        ("encode", c_double),
        ("prefill", c_double),
        ("decode", c_double),
        ("total", c_double),
    ]


class parley_asr_result(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("text", c_char_p),
        ("language", c_char_p),
        ("finish", c_int),
        ("audio_seconds", c_double),
        ("heard_seconds", c_double),
        ("segments", POINTER(parley_asr_segment)),
        ("n_segments", c_size_t),
        ("kv_bytes", c_uint64),
        ("times", parley_asr_times),
        ("teacher_choices", c_uint64),
        ("teacher_agreed", c_uint64),
    ]


class parley_asr_update(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("final", c_bool),
        ("start", c_double),
        ("end", c_double),
        ("text", c_char_p),
        ("length", c_size_t),
        ("stable", c_size_t),
        ("language", c_char_p),
        ("finish", c_int),
        ("no_speech", c_bool),
        ("looped", c_bool),
        ("echoed", c_bool),
        ("spaced", c_bool),
    ]


class parley_align_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("language", c_char_p),
        ("units", POINTER(c_char_p)),
        ("n_units", c_size_t),
        ("split_japanese", CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t, POINTER(c_ubyte), POINTER(parley_error))),
        ("split_context", c_void_p),
        ("lexicon", c_char_p),
        ("lexicon_length", c_size_t),
        ("offset", c_double),
        ("attention", c_int),
        ("kv", c_int),
        ("activations", c_int),
        ("tap", CFUNCTYPE(None, c_void_p, c_char_p, c_char, c_void_p, POINTER(c_int64), c_int)),
        ("tap_context", c_void_p),
        ("progress", CFUNCTYPE(c_bool, c_void_p, c_double)),
        ("progress_context", c_void_p),
    ]


class parley_alignment(Structure):
    _fields_ = [
        ("words", POINTER(parley_asr_word)),
        ("n_words", c_size_t),
        ("rule", c_int),
        ("n_windows", c_size_t),
        ("reliable", c_bool),
        ("times", parley_asr_times),
    ]


class parley_voice_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("tap", CFUNCTYPE(None, c_void_p, c_char_p, c_char, c_void_p, POINTER(c_int64), c_int)),
        ("tap_context", c_void_p),
        ("cancelled", CFUNCTYPE(c_bool, c_void_p)),
        ("cancel_context", c_void_p),
    ]


class parley_voice(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("model", c_char_p),
        ("text", c_char_p),
        ("vector", POINTER(c_float)),
        ("vector_length", c_size_t),
        ("codes", POINTER(c_int32)),
        ("frames", c_size_t),
        ("groups", c_int32),
        ("codebook_size", c_int32),
        ("codec", c_char_p),
    ]


class parley_engine_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("max_active", c_int32),
        ("max_queued", c_int32),
        ("max_kv_bytes", c_uint64),
        ("prompt_rows", c_int32),
        ("slice_seconds", c_double),
        ("pcm_seconds", c_double),
        ("sound_seconds", c_double),
        ("text_bytes", c_size_t),
    ]


class parley_request_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("deadline_seconds", c_double),
        ("notify", CFUNCTYPE(None, c_void_p)),
        ("notify_context", c_void_p),
    ]


class parley_encode_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("vector", c_bool),
        ("codes", c_bool),
        ("silence_seconds", c_double),
    ]


class parley_event(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("pcm", POINTER(c_float)),
        ("samples", c_size_t),
        ("first_sample", c_uint64),
        ("frames", c_uint64),
        ("update", parley_asr_update),
        ("status", c_int),
        ("error", POINTER(parley_error)),
        ("finish", c_int),
    ]


class parley_request_progress(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("state", c_int),
        ("ahead", c_int32),
        ("frames", c_uint64),
        ("audio_seconds", c_double),
        ("kv_bytes", c_uint64),
        ("waits_for_text", c_bool),
        ("waits_for_reader", c_bool),
        ("queued_seconds", c_double),
        ("first_audio_seconds", c_double),
        ("total_seconds", c_double),
    ]


class parley_engine_figures(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("accepted", c_uint64),
        ("refused", c_uint64),
        ("stopped", c_uint64),
        ("cut", c_uint64),
        ("cancelled", c_uint64),
        ("late", c_uint64),
        ("failed", c_uint64),
        ("active", c_int32),
        ("queued", c_int32),
        ("jobs", c_int32),
        ("turns", c_uint64),
        ("turn_rows", c_uint64),
        ("turn_seconds", c_double),
        ("frames", c_uint64),
        ("speech_seconds", c_double),
        ("heard_seconds", c_double),
        ("busy_seconds", c_double),
        ("kv_bytes", c_uint64),
        ("kv_bytes_most", c_uint64),
        ("first_audio", c_uint64 * 12),
        ("first_audio_seconds", c_double),
        ("first_audio_count", c_uint64),
    ]


FUNCTIONS = {
    "parley_version": (c_char_p, []),
    "parley_status_name": (c_char_p, [c_int]),
    "parley_status_http": (c_int, [c_int]),
    "parley_status_exit_code": (c_int, [c_int]),
    "parley_cpu_name": (c_char_p, [c_int]),
    "parley_cpu_from_name": (c_bool, [c_char_p, POINTER(c_int)]),
    "parley_open_options_init": (None, [POINTER(parley_open_options)]),
    "parley_model_open": (c_int, [c_char_p, POINTER(parley_open_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_model_open_memory": (c_int, [POINTER(parley_memory_file), c_size_t, POINTER(parley_open_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_model_close": (None, [c_void_p]),
    "parley_model_info": (POINTER(parley_info), [c_void_p]),
    "parley_inspect": (c_int, [c_char_p, POINTER(parley_open_options), POINTER(POINTER(parley_info)), POINTER(parley_error)]),
    "parley_info_free": (None, [POINTER(parley_info)]),
    "parley_check": (c_int, [c_char_p, POINTER(parley_open_options), CFUNCTYPE(None, c_void_p, POINTER(parley_finding)), c_void_p, POINTER(c_size_t), POINTER(parley_error)]),
    "parley_tokenize": (c_int, [c_void_p, c_char_p, c_size_t, c_bool, POINTER(POINTER(c_int32)), POINTER(c_size_t), POINTER(parley_error)]),
    "parley_free_ids": (None, [c_void_p, POINTER(c_int32), c_size_t]),
    "parley_bench_options_init": (None, [POINTER(parley_bench_options)]),
    "parley_model_bench": (c_int, [c_void_p, POINTER(parley_bench_options), CFUNCTYPE(None, c_void_p, POINTER(parley_bench_row)), c_void_p, POINTER(parley_error)]),
    "parley_finish_name": (c_char_p, [c_int]),
    "parley_tts_options_init": (None, [c_void_p, POINTER(parley_tts_options)]),
    "parley_reference_open": (c_int, [c_void_p, POINTER(c_int32), c_size_t, POINTER(c_void_p), POINTER(parley_error)]),
    "parley_reference_close": (None, [c_void_p]),
    "parley_speaker_find": (c_int64, [c_void_p, c_char_p]),
    "parley_tts_open": (c_int, [c_void_p, POINTER(parley_tts_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_tts_close": (None, [c_void_p]),
    "parley_tts_push_text": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(parley_error)]),
    "parley_tts_finish_text": (c_int, [c_void_p, POINTER(parley_error)]),
    "parley_tts_pull": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(c_size_t), POINTER(parley_error)]),
    "parley_tts_step": (c_int, [POINTER(c_void_p), c_size_t, POINTER(c_size_t), POINTER(parley_error)]),
    "parley_tts_ready": (c_size_t, [c_void_p]),
    "parley_tts_waiting": (c_bool, [c_void_p]),
    "parley_tts_cancel": (None, [c_void_p]),
    "parley_tts_result_get": (None, [c_void_p, POINTER(parley_tts_result)]),
    "parley_codec_options_init": (None, [POINTER(parley_codec_options)]),
    "parley_codec_open": (c_int, [c_void_p, POINTER(parley_codec_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_codec_close": (None, [c_void_p]),
    "parley_codec_decode": (c_int, [c_void_p, POINTER(c_int32), c_size_t, POINTER(c_float), POINTER(parley_error)]),
    "parley_codec_reference_cut": (c_uint64, [c_size_t, c_size_t, c_uint64]),
    "parley_audio_options_init": (None, [POINTER(parley_audio_options)]),
    "parley_audio_read": (c_int, [c_char_p, POINTER(parley_audio_stream), POINTER(parley_audio_options), POINTER(parley_audio), POINTER(parley_error)]),
    "parley_audio_read_memory": (c_int, [c_char_p, c_void_p, c_size_t, POINTER(parley_audio_options), POINTER(parley_audio), POINTER(parley_error)]),
    "parley_audio_read_file": (c_int, [c_char_p, POINTER(parley_audio_options), POINTER(parley_audio), POINTER(parley_error)]),
    "parley_audio_free": (None, [POINTER(parley_audio)]),
    "parley_asr_options_init": (None, [c_void_p, POINTER(parley_asr_options)]),
    "parley_asr_open": (c_int, [c_void_p, POINTER(parley_asr_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_asr_close": (None, [c_void_p]),
    "parley_asr_push": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(parley_error)]),
    "parley_asr_finish": (c_int, [c_void_p, POINTER(parley_error)]),
    "parley_asr_step": (c_int, [POINTER(c_void_p), c_size_t, POINTER(c_size_t), POINTER(parley_error)]),
    "parley_asr_run": (c_int, [c_void_p, POINTER(parley_error)]),
    "parley_asr_cancel": (None, [c_void_p]),
    "parley_asr_result_get": (None, [c_void_p, POINTER(parley_asr_result)]),
    "parley_asr_sound": (POINTER(c_float), [c_void_p, POINTER(c_size_t)]),
    "parley_asr_poll": (c_int, [c_void_p, POINTER(parley_asr_update), POINTER(c_bool), POINTER(parley_error)]),
    "parley_align_options_init": (None, [c_void_p, POINTER(parley_align_options)]),
    "parley_align": (c_int, [c_void_p, POINTER(c_float), c_size_t, c_char_p, c_size_t, POINTER(parley_align_options), POINTER(POINTER(parley_alignment)), POINTER(parley_error)]),
    "parley_alignment_free": (None, [POINTER(parley_alignment)]),
    "parley_voice_options_init": (None, [POINTER(parley_voice_options)]),
    "parley_voice_vector": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(parley_voice_options), POINTER(c_float), POINTER(parley_error)]),
    "parley_codec_encode": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(parley_voice_options), POINTER(POINTER(c_int32)), POINTER(c_size_t), POINTER(parley_error)]),
    "parley_voice_write": (c_int, [POINTER(parley_voice), POINTER(c_void_p), POINTER(c_size_t), POINTER(parley_error)]),
    "parley_voice_bytes_free": (None, [c_void_p, c_size_t]),
    "parley_voice_read": (c_int, [c_void_p, c_size_t, POINTER(POINTER(parley_voice)), POINTER(parley_error)]),
    "parley_voice_free": (None, [POINTER(parley_voice)]),
    "parley_voice_check": (c_int, [POINTER(parley_voice), POINTER(parley_info), POINTER(parley_error)]),
    "parley_voice_read_spk": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_float), POINTER(parley_error)]),
    "parley_voice_read_rvq": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(POINTER(c_int32)), POINTER(c_size_t), POINTER(parley_error)]),
    "parley_voice_write_rvq": (c_int, [POINTER(c_int32), c_size_t, c_int32, c_int32, POINTER(c_void_p), POINTER(c_size_t), POINTER(parley_error)]),
    "parley_voice_hash": (None, [c_void_p, c_size_t, c_char_p]),
    "parley_engine_options_init": (None, [POINTER(parley_engine_options)]),
    "parley_engine_open": (c_int, [c_void_p, POINTER(parley_engine_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_engine_drain": (c_bool, [c_void_p, c_double]),
    "parley_engine_close": (None, [c_void_p]),
    "parley_request_options_init": (None, [POINTER(parley_request_options)]),
    "parley_engine_speak": (c_int, [c_void_p, POINTER(parley_tts_options), POINTER(parley_request_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_request_push_text": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(parley_error)]),
    "parley_request_finish_text": (c_int, [c_void_p, POINTER(parley_error)]),
    "parley_engine_hear": (c_int, [c_void_p, POINTER(parley_asr_options), POINTER(parley_request_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_request_push_sound": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(parley_error)]),
    "parley_request_finish_sound": (c_int, [c_void_p, POINTER(parley_error)]),
    "parley_engine_align": (c_int, [c_void_p, POINTER(c_float), c_size_t, c_char_p, c_size_t, POINTER(parley_align_options), POINTER(parley_request_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_encode_options_init": (None, [c_void_p, POINTER(parley_encode_options)]),
    "parley_engine_encode_voice": (c_int, [c_void_p, POINTER(c_float), c_size_t, POINTER(parley_encode_options), POINTER(parley_request_options), POINTER(c_void_p), POINTER(parley_error)]),
    "parley_request_cancel": (None, [c_void_p]),
    "parley_request_release": (None, [c_void_p]),
    "parley_request_next": (c_int, [c_void_p, c_double, POINTER(parley_event)]),
    "parley_request_progress_get": (None, [c_void_p, POINTER(parley_request_progress)]),
    "parley_request_speech": (c_bool, [c_void_p, POINTER(parley_tts_result)]),
    "parley_request_recognition": (c_bool, [c_void_p, POINTER(parley_asr_result)]),
    "parley_request_alignment": (c_bool, [c_void_p, POINTER(POINTER(parley_alignment))]),
    "parley_request_voice": (c_bool, [c_void_p, POINTER(parley_voice)]),
    "parley_latency_bounds": (POINTER(c_double), []),
    "parley_engine_figures_get": (None, [c_void_p, POINTER(parley_engine_figures)]),
}
