#include "models/qwen3_tts/voice_file.h"

#include "base/arena.h"
#include "base/checked.h"
#include "base/hash.h"
#include "models/qwen3_tts/fingerprint.h"
#include "text/tokenizer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    VERSION = 1,         /* of files without a section "cdec" */
    VERSION_CODEC = 2,   /* of those with one */
    HEADER = 24,         /* magic, version, number of sections, size of the whole file */
    SECTION = 8,         /* tag, length */
    CODES_HEADER = 12,   /* frames, groups, codebook size */
    MOST_NAME = 255,     /* bytes, of the name and the model's identity */
    MOST_TEXT = 1 << 20, /* bytes */
    MOST_VECTOR = 1 << 16,
    MOST_FRAMES = 1 << 17, /* nearly three hours */
    MOST_GROUPS = 1024,
    MOST_CODEBOOK = 1 << 16,
    MOST_FILE = 1 << 28,
    MOST_SECTIONS = 64
};

static const char magic[9] = "\x89PVOICE\n";

enum { SECTION_NAME, SECTION_MODEL, SECTION_TEXT, SECTION_VECTOR, SECTION_CODES, SECTION_CODEC, SECTIONS };
static const char tags[SECTIONS][5] = {"name", "modl", "text", "vect", "code", "cdec"};

/* A voice and the memory that it lives in. */
typedef struct owned_voice {
    parley_voice voice;
    pl_arena arena;
} owned_voice;

/* ------------------------------------------------------------------ numbers */

static void put16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value)
{
    put16(to, value);
    put16(to + 2, value >> 16);
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

static uint32_t get32(const uint8_t *from)
{
    return get16(from) | get16(from + 2) << 16;
}

static float get_float(const uint8_t *from)
{
    uint32_t bits = get32(from);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put32(to, bits);
}

/* ------------------------------------------------------------------ what a voice may hold */

/* Names are one line. */
static parley_status check_text(const char *what, const char *text, size_t length, size_t most, bool line, parley_status fault, uint64_t position,
                                parley_error *error)
{
    if (length > most)
        return pl_fail_at(error, fault == PARLEY_FORMAT ? PARLEY_LIMIT : fault, position, "%s of %zu bytes, at most %zu", what, length, most);
    size_t good = pl_utf8_check(text, length);
    if (good < length)
        return pl_fail_at(error, fault, position + good, "%s is not valid UTF-8 at byte %zu", what, good);
    for (size_t i = 0; i < length; i++)
        if (text[i] == 0 || (line && ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)))
            return pl_fail_at(error, fault, position + i, "%s holds a control character at byte %zu", what, i);
    return PARLEY_OK;
}

static parley_status check_codes_shape(uint64_t frames, uint64_t groups, uint64_t codebook, parley_status fault, uint64_t position,
                                       parley_error *error)
{
    if (frames >= 1 && frames <= MOST_FRAMES && groups >= 1 && groups <= MOST_GROUPS && codebook >= 1 && codebook <= MOST_CODEBOOK)
        return PARLEY_OK;
    return pl_fail_at(error, fault, position,
                      "codes of %" PRIu64 " frames, %" PRIu64 " groups and %" PRIu64 " entries a codebook, expected 1 to %d, %d and %d", frames,
                      groups, codebook, MOST_FRAMES, MOST_GROUPS, MOST_CODEBOOK);
}

/* ------------------------------------------------------------------ writing */

static parley_status check_codes(const int32_t *codes, size_t frames, int32_t groups, int32_t codebook_size, parley_error *error)
{
    PL_TRY(check_codes_shape(frames, groups > 0 ? (uint64_t)groups : 0, codebook_size > 0 ? (uint64_t)codebook_size : 0, PARLEY_ARGUMENT, 0, error));
    for (size_t i = 0; i < frames * (size_t)groups; i++)
        if (codes[i] < 0 || codes[i] >= codebook_size)
            return pl_fail(error, PARLEY_ARGUMENT, "code %" PRId32 " of frame %zu, group %zu, expected 0 to %" PRId32, codes[i], i / (size_t)groups,
                           i % (size_t)groups, codebook_size - 1);
    return PARLEY_OK;
}

static bool has_codec(const parley_voice *v)
{
    return v->codec && *v->codec;
}

static parley_status check_voice(const parley_voice *v, parley_error *error)
{
    const char *texts[] = {v->name, v->model, v->text};
    static const char *const what[] = {"the voice's name", "the model's identity", "the transcript"};
    for (int i = 0; i < 3; i++)
        if (texts[i])
            PL_TRY(check_text(what[i], texts[i], strlen(texts[i]), i < 2 ? MOST_NAME : MOST_TEXT, i < 2, PARLEY_ARGUMENT, 0, error));
    if (!v->vector || v->vector_length == 0 || v->vector_length > MOST_VECTOR)
        return pl_fail(error, PARLEY_ARGUMENT, "a voice needs a vector of 1 to %d values, this one has %zu", MOST_VECTOR,
                       v->vector ? v->vector_length : 0);
    for (size_t i = 0; i < v->vector_length; i++)
        if (!isfinite(v->vector[i]))
            return pl_fail(error, PARLEY_ARGUMENT, "the voice's vector is not finite at index %zu", i);
    if (has_codec(v) && !v->codes)
        return pl_fail(error, PARLEY_ARGUMENT, "a voice without codes depends on no codec, this one names one");
    if (has_codec(v) && !pl_codec_fingerprint_is(v->codec, strlen(v->codec)))
        return pl_fail(error, PARLEY_ARGUMENT, "the voice's codec is \"%.80s\", expected a parley_info.codec_identity", v->codec);
    if (!v->codes)
        return PARLEY_OK;
    if (!v->text || !*v->text)
        return pl_fail(error, PARLEY_ARGUMENT, "a voice with codes needs the transcript of its recording");
    return check_codes(v->codes, v->frames, v->groups, v->codebook_size, error);
}

/* The sections' sizes; all fit, since check_voice() bounds each. */
static void measure(const parley_voice *v, size_t lengths[SECTIONS])
{
    lengths[SECTION_NAME] = v->name ? strlen(v->name) : 0;
    lengths[SECTION_MODEL] = v->model ? strlen(v->model) : 0;
    lengths[SECTION_TEXT] = v->text ? strlen(v->text) : 0;
    lengths[SECTION_VECTOR] = v->vector_length * 4;
    lengths[SECTION_CODES] = v->codes ? CODES_HEADER + v->frames * (size_t)v->groups * 2 : 0;
    lengths[SECTION_CODEC] = has_codec(v) ? strlen(v->codec) : 0;
}

static void put_payload(const parley_voice *v, int section, size_t length, uint8_t *to)
{
    const char *texts[] = {v->name, v->model, v->text};
    if (section <= SECTION_TEXT) {
        if (length)
            memcpy(to, texts[section], length);
        return;
    }
    if (section == SECTION_VECTOR) {
        for (size_t i = 0; i < v->vector_length; i++)
            put_float(to + 4 * i, v->vector[i]);
        return;
    }
    if (section == SECTION_CODEC) {
        memcpy(to, v->codec, length);
        return;
    }
    put32(to, (uint32_t)v->frames);
    put32(to + 4, (uint32_t)v->groups);
    put32(to + 8, (uint32_t)v->codebook_size);
    for (size_t i = 0; i < v->frames * (size_t)v->groups; i++)
        put16(to + CODES_HEADER + 2 * i, (uint32_t)v->codes[i]);
}

static parley_status voice_write(const parley_voice *voice, void **bytes, size_t *size, parley_error *error)
{
    PL_TRY(check_voice(voice, error));
    int sections = has_codec(voice) ? SECTIONS : voice->codes ? SECTION_CODEC : SECTION_CODES;
    size_t lengths[SECTIONS], total = HEADER + PL_HASH_SIZE;
    measure(voice, lengths);
    for (int i = 0; i < sections; i++)
        total += SECTION + lengths[i];
    if (total > MOST_FILE)
        return pl_fail(error, PARLEY_ARGUMENT, "a voice file of %zu bytes, at most %d", total, MOST_FILE);
    parley_allocator allocator = pl_default_allocator();
    uint8_t *file = pl_alloc(&allocator, total, 1), *at = file;
    if (!file)
        return pl_fail_memory(error, "a voice file");
    memcpy(at, magic, 8);
    put32(at + 8, has_codec(voice) ? VERSION_CODEC : VERSION);
    put32(at + 12, (uint32_t)sections);
    put32(at + 16, (uint32_t)total);
    put32(at + 20, 0);
    at += HEADER;
    for (int i = 0; i < sections; i++) {
        memcpy(at, tags[i], 4);
        put32(at + 4, (uint32_t)lengths[i]);
        put_payload(voice, i, lengths[i], at + SECTION);
        at += SECTION + lengths[i];
    }
    pl_hash_of(file, total - PL_HASH_SIZE, at);
    *bytes = file;
    *size = total;
    return PARLEY_OK;
}

static void bytes_free(void *bytes, size_t size)
{
    parley_allocator allocator = pl_default_allocator();
    pl_release(&allocator, bytes, size, 1);
}

/* ------------------------------------------------------------------ reading */

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at; /* `size` without the hash */
    owned_voice *owned;
    uint32_t version;
    bool seen[SECTIONS];
    int last; /* of the known sections; they come in order */
    parley_error *error;
} reader;

static parley_status take_text(reader *r, int section, const uint8_t *data, size_t length)
{
    static const char *const what[] = {"the voice's name", "the model's identity", "the transcript"};
    const char **const fields[] = {&r->owned->voice.name, &r->owned->voice.model, &r->owned->voice.text};
    const char *text = (const char *)data;
    PL_TRY(check_text(what[section], text, length, section < SECTION_TEXT ? MOST_NAME : MOST_TEXT, section < SECTION_TEXT, PARLEY_FORMAT, r->at,
                      r->error));
    *fields[section] = pl_arena_text(&r->owned->arena, text, length);
    return *fields[section] ? PARLEY_OK : pl_fail_memory(r->error, "a voice");
}

static parley_status take_vector(reader *r, const uint8_t *data, size_t length)
{
    size_t count = length / 4;
    if (length % 4 != 0 || count == 0 || count > MOST_VECTOR)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: a vector of %zu bytes, expected 1 to %d values of 4", r->at, length,
                          MOST_VECTOR);
    float *vector = PL_NEW_ARRAY(&r->owned->arena, float, count);
    if (!vector)
        return pl_fail_memory(r->error, "a voice");
    for (size_t i = 0; i < count; i++) {
        vector[i] = get_float(data + 4 * i);
        if (!isfinite(vector[i]))
            return pl_fail_at(r->error, PARLEY_FORMAT, r->at + 4 * i, "voice file, byte %zu: the vector is not finite at index %zu", r->at + 4 * i,
                              i);
    }
    r->owned->voice.vector = vector;
    r->owned->voice.vector_length = count;
    return PARLEY_OK;
}

static parley_status take_codes(reader *r, const uint8_t *data, size_t length)
{
    parley_voice *v = &r->owned->voice;
    if (length < CODES_HEADER)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: codes of %zu bytes, expected at least %d", r->at, length,
                          CODES_HEADER);
    uint32_t frames = get32(data), groups = get32(data + 4), codebook = get32(data + 8);
    PL_TRY(check_codes_shape(frames, groups, codebook, PARLEY_FORMAT, r->at, r->error));
    size_t count = (size_t)frames * groups;
    if (length - CODES_HEADER != count * 2)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: codes of %zu bytes, expected %zu for %" PRIu32 " frames of %" PRIu32,
                          r->at, length, CODES_HEADER + count * 2, frames, groups);
    int32_t *codes = PL_NEW_ARRAY(&r->owned->arena, int32_t, count);
    if (!codes)
        return pl_fail_memory(r->error, "a voice");
    for (size_t i = 0; i < count; i++) {
        codes[i] = (int32_t)get16(data + CODES_HEADER + 2 * i);
        if ((uint32_t)codes[i] >= codebook)
            return pl_fail_at(r->error, PARLEY_FORMAT, r->at + CODES_HEADER + 2 * i,
                              "voice file: code %" PRId32 " of frame %zu, group %zu, expected 0 to %" PRIu32, codes[i], i / groups, i % groups,
                              codebook - 1);
    }
    v->codes = codes;
    v->frames = frames;
    v->groups = (int32_t)groups;
    v->codebook_size = (int32_t)codebook;
    return PARLEY_OK;
}

static parley_status take_codec(reader *r, const uint8_t *data, size_t length)
{
    const char *text = (const char *)data;
    if (!pl_codec_fingerprint_is(text, length))
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: the codec's fingerprint is no 64 digits of 0-9 a-f", r->at);
    r->owned->voice.codec = pl_arena_text(&r->owned->arena, text, length);
    return r->owned->voice.codec ? PARLEY_OK : pl_fail_memory(r->error, "a voice");
}

/* A tag that begins with 'x' is other programs' business and passed over; any other unknown one means something that this version cannot know. */
static parley_status take_section(reader *r, const uint8_t *tag, const uint8_t *data, size_t length)
{
    int section = 0;
    int known = r->version == VERSION_CODEC ? SECTIONS : SECTION_CODEC;
    while (section < known && memcmp(tags[section], tag, 4) != 0)
        section++;
    if (section == known && tag[0] == 'x')
        return PARLEY_OK;
    if (section == known)
        return pl_fail_at(r->error, PARLEY_UNSUPPORTED, r->at, "voice file, byte %zu: section \"%.4s\" is unknown to version %" PRIu32, r->at,
                          (const char *)tag, r->version);
    if (section <= r->last)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: section \"%s\" %s", r->at, tags[section],
                          r->seen[section] ? "is there twice" : "is out of order");
    r->last = section;
    r->seen[section] = true;
    if (section <= SECTION_TEXT)
        return take_text(r, section, data, length);
    if (section == SECTION_VECTOR)
        return take_vector(r, data, length);
    return section == SECTION_CODES ? take_codes(r, data, length) : take_codec(r, data, length);
}

static parley_status take_sections(reader *r)
{
    uint32_t sections = get32(r->bytes + 12);
    if (sections > MOST_SECTIONS)
        return pl_fail_at(r->error, PARLEY_FORMAT, 12, "voice file: %" PRIu32 " sections, at most %d", sections, MOST_SECTIONS);
    for (uint32_t i = 0; i < sections; i++) {
        if (r->size - r->at < SECTION)
            return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: ends within section %" PRIu32, r->at, i);
        const uint8_t *tag = r->bytes + r->at;
        size_t length = get32(tag + 4);
        r->at += SECTION;
        if (length > r->size - r->at)
            return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: section %" PRIu32 " of %zu bytes, %zu are left", r->at, i,
                              length, r->size - r->at);
        PL_TRY(take_section(r, tag, r->bytes + r->at, length));
        r->at += length;
    }
    if (r->at != r->size)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file, byte %zu: %zu bytes behind the last section", r->at, r->size - r->at);
    bool must[SECTIONS] = {true, true, true, true, r->seen[SECTION_CODEC], r->version == VERSION_CODEC};
    for (int i = 0; i < SECTIONS; i++)
        if (must[i] && !r->seen[i])
            return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file: no section \"%s\"", tags[i]);
    if (r->owned->voice.codes && !*r->owned->voice.text)
        return pl_fail_at(r->error, PARLEY_FORMAT, r->at, "voice file: codes without the transcript of the recording");
    return PARLEY_OK;
}

static void voice_free(parley_voice *voice)
{
    owned_voice *owned = (owned_voice *)voice;
    parley_allocator allocator = owned->arena.allocator;
    pl_arena_free(&owned->arena);
    pl_release(&allocator, owned, 1, sizeof *owned);
}

static parley_status check_header(const uint8_t *bytes, size_t size, parley_error *error)
{
    if (size < 8 || memcmp(bytes, magic, 8) != 0)
        return pl_fail_at(error, PARLEY_FORMAT, 0, "not a voice file of parley");
    if (size < HEADER)
        return pl_fail_at(error, PARLEY_FORMAT, size, "voice file: ends after %zu bytes, within its header", size);
    if (get32(bytes + 8) != VERSION && get32(bytes + 8) != VERSION_CODEC)
        return pl_fail_at(error, PARLEY_UNSUPPORTED, 8, "voice file of version %" PRIu32 ", this program reads versions %d and %d", get32(bytes + 8),
                          VERSION, VERSION_CODEC);
    uint64_t told = (uint64_t)get32(bytes + 16) | (uint64_t)get32(bytes + 20) << 32;
    if (told != (uint64_t)size + PL_HASH_SIZE)
        return pl_fail_at(error, PARLEY_FORMAT, 16, "voice file: %zu bytes, its header says %" PRIu64, size + PL_HASH_SIZE, told);
    return PARLEY_OK;
}

parley_status pl_voice_parse(const void *bytes, size_t size, parley_voice **voice, parley_error *error)
{
    enum { CHUNK = 4096 };
    PL_TRY(check_header(bytes, size, error));
    parley_allocator allocator = pl_default_allocator();
    owned_voice *owned = pl_alloc(&allocator, 1, sizeof *owned);
    if (!owned)
        return pl_fail_memory(error, "a voice");
    *owned = (owned_voice){.voice = {.codec = ""}};
    pl_arena_init(&owned->arena, NULL, CHUNK);
    reader r = {.bytes = bytes, .size = size, .at = HEADER, .owned = owned, .version = get32((const uint8_t *)bytes + 8), .last = -1, .error = error};
    parley_status status = take_sections(&r);
    if (status == PARLEY_OK)
        *voice = &owned->voice;
    else
        voice_free(&owned->voice);
    return status;
}

/* The header is looked at first, since it tells another kind of file, another version and one that is cut off from a damaged one. */
static parley_status voice_read(const void *bytes, size_t size, parley_voice **voice, parley_error *error)
{
    uint8_t digest[PL_HASH_SIZE];
    if (size > MOST_FILE)
        return pl_fail(error, PARLEY_LIMIT, "a voice file of %zu bytes, at most %d", size, MOST_FILE);
    size_t inner = size > PL_HASH_SIZE ? size - PL_HASH_SIZE : 0;
    if (size < HEADER + PL_HASH_SIZE && (size < 8 || memcmp(bytes, magic, 8) == 0))
        return pl_fail_at(error, PARLEY_FORMAT, size, size < 8 ? "not a voice file of parley" : "voice file: ends after %zu bytes", size);
    PL_TRY(check_header(bytes, inner, error));
    pl_hash_of(bytes, inner, digest);
    if (memcmp(digest, (const uint8_t *)bytes + inner, PL_HASH_SIZE) != 0)
        return pl_fail_at(error, PARLEY_FORMAT, inner, "voice file: its hash (byte %zu) does not fit its bytes, it is damaged", inner);
    return pl_voice_parse(bytes, inner, voice, error);
}

/* ------------------------------------------------------------------ files of qwentts.cpp */

static parley_status read_spk(const parley_info *info, const void *bytes, size_t size, float *vector, parley_error *error)
{
    const uint8_t *from = bytes;
    size_t length = info->xvector_length > 0 ? (size_t)info->xvector_length : 0;
    if (length == 0)
        return pl_fail(error, PARLEY_STATE, "this model (%s) takes no voice vectors", info->model_type[0] ? info->model_type : "a codec");
    if (size != length * 4)
        return pl_fail_at(error, PARLEY_FORMAT, size, "a .spk file of %zu bytes, this model's has %zu (%zu values of 4)", size, length * 4, length);
    for (size_t i = 0; i < length; i++) {
        vector[i] = get_float(from + 4 * i);
        if (!isfinite(vector[i]))
            return pl_fail_at(error, PARLEY_FORMAT, 4 * i, ".spk file, byte %zu: the vector is not finite at index %zu", 4 * i, i);
    }
    return PARLEY_OK;
}

static size_t bits_of(int32_t codebook_size)
{
    size_t bits = 1;
    while (((int64_t)1 << bits) < codebook_size)
        bits++;
    return bits;
}

/* `count` bits, least significant first, from bit `at` on. */
static uint32_t get_bits(const uint8_t *bytes, size_t at, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint32_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return value;
}

static void put_bits(uint8_t *bytes, size_t at, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        bytes[(at + i) / 8] |= (uint8_t)((value >> i & 1) << (at + i) % 8);
}

static parley_status unpack(const uint8_t *bytes, size_t size, size_t bits, const parley_info *info, size_t frames, int32_t *codes,
                            parley_error *error)
{
    size_t groups = (size_t)info->groups, at = 0;
    for (size_t g = 0; g < groups; g++) {
        for (size_t t = 0; t < frames; t++, at += bits) {
            int32_t code = (int32_t)get_bits(bytes, at, bits);
            if (code >= info->codebook_size)
                return pl_fail_at(error, PARLEY_FORMAT, at / 8,
                                  ".rvq file, byte %zu: code %" PRId32 " of frame %zu, group %zu, expected 0 to %" PRId32, at / 8, code, t, g,
                                  info->codebook_size - 1);
            codes[t * groups + g] = code;
        }
    }
    if (get_bits(bytes, at, 8 * size - at) != 0)
        return pl_fail_at(error, PARLEY_FORMAT, size - 1, ".rvq file, byte %zu: the bits behind the last code are not zero", size - 1);
    return PARLEY_OK;
}

/* The number of frames follows from the size; the last byte is filled up, by less than a byte. */
static parley_status read_rvq(const parley_allocator *allocator, const parley_info *info, const void *bytes, size_t size, int32_t **codes,
                              size_t *frames, parley_error *error)
{
    if (info->groups < 1 || info->codebook_size < 1)
        return pl_fail(error, PARLEY_STATE, "this model has no codec");
    size_t bits = bits_of(info->codebook_size), frame = bits * (size_t)info->groups;
    if (size == 0 || size > MOST_FILE)
        return pl_fail_at(error, PARLEY_FORMAT, 0, "a .rvq file of %zu bytes, expected 1 to %d", size, MOST_FILE);
    size_t count = 8 * size / frame;
    if (count == 0 || count > MOST_FRAMES || (count * frame + 7) / 8 != size)
        return pl_fail_at(error, PARLEY_FORMAT, size,
                          "a .rvq file of %zu bytes is no whole number of frames (1 to %d) of %" PRId32 " codes of %zu bits", size, MOST_FRAMES,
                          info->groups, bits);
    int32_t *values = pl_alloc(allocator, count * (size_t)info->groups, sizeof *values);
    if (!values)
        return pl_fail_memory(error, "codes");
    parley_status status = unpack(bytes, size, bits, info, count, values, error);
    if (status != PARLEY_OK) {
        pl_release(allocator, values, count * (size_t)info->groups, sizeof *values);
        return status;
    }
    *codes = values;
    *frames = count;
    return PARLEY_OK;
}

static parley_status write_rvq(const int32_t *codes, size_t frames, int32_t groups, int32_t codebook_size, void **bytes, size_t *size,
                               parley_error *error)
{
    PL_TRY(check_codes(codes, frames, groups, codebook_size, error));
    size_t bits = bits_of(codebook_size), total = (frames * (size_t)groups * bits + 7) / 8, at = 0;
    parley_allocator allocator = pl_default_allocator();
    uint8_t *file = pl_alloc(&allocator, total, 1);
    if (!file)
        return pl_fail_memory(error, "codes");
    memset(file, 0, total);
    for (size_t g = 0; g < (size_t)groups; g++)
        for (size_t t = 0; t < frames; t++, at += bits)
            put_bits(file, at, bits, (uint32_t)codes[t * (size_t)groups + g]);
    *bytes = file;
    *size = total;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ which model a voice works with */

/* The vector is the talker's business; the codes are the codec's too. */
static parley_status voice_check(const parley_voice *v, const parley_info *info, parley_error *error)
{
    enum { SHOWN = 12 }; /* digits of a fingerprint that tell it from another */
    const char *model = v->model && *v->model ? v->model : "an unnamed model";
    if (info->xvector_length == 0)
        return pl_fail(error, PARLEY_ARGUMENT, "this model (%.100s) takes no voice vectors, a Base model does", info->identity);
    if (v->vector_length != (size_t)info->xvector_length)
        return pl_fail(error, PARLEY_ARGUMENT, "it is of %.100s and has a vector of %zu values, this model (%.100s) takes %" PRId32, model,
                       v->vector_length, info->identity, info->xvector_length);
    if (!v->codes)
        return PARLEY_OK;
    if (v->groups != info->groups || v->codebook_size != info->codebook_size)
        return pl_fail(error, PARLEY_ARGUMENT,
                       "it is of %.100s and has codes of %" PRId32 " groups of %" PRId32 ", this model (%.100s) has %" PRId32 " of %" PRId32, model,
                       v->groups, v->codebook_size, info->identity, info->groups, info->codebook_size);
    if (has_codec(v) && *info->codec_identity && !pl_codec_fingerprints_agree(v->codec, info->codec_identity))
        return pl_fail(error, PARLEY_ARGUMENT,
                       "its codes are of another codec: it was made with codec %.*s of %.100s, this model (%.100s) has codec %.*s; make it again "
                       "from the recording",
                       SHOWN, v->codec, model, info->identity, SHOWN, info->codec_identity);
    return PARLEY_OK;
}

const pl_voice_file_ops pl_voice_files_qwen3 = {
    .write = voice_write,
    .bytes_free = bytes_free,
    .read = voice_read,
    .free = voice_free,
    .read_spk = read_spk,
    .read_rvq = read_rvq,
    .write_rvq = write_rvq,
    .check = voice_check,
};
