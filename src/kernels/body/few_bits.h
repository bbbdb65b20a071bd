/* Weights of 4 to 6 bits (Q4_0, Q4_K, Q5_K, Q6_K) in panels: out of their bits, to float32, and times 8-bit activations. */

/* ------------------------------------------------------------------ bits */

/* Bits n .. of each byte moved to bit 4 (n below 8). */
INLINE s_bytes bits_to_4(s_bytes a, int n)
{
    switch (n) {
    case 0: return S_LEFT(a, 4);
    case 1: return S_LEFT(a, 3);
    case 2: return S_LEFT(a, 2);
    case 3: return S_LEFT(a, 1);
    case 5: return S_RIGHT(a, 1);
    case 6: return S_RIGHT(a, 2);
    case 7: return S_RIGHT(a, 3);
    default: return a;
    }
}

/* Stored quants of k = 4 * four .. of 16 rows; w: the block. */
INLINE s_bytes few_bits(pl_type type, const uint8_t *w, int four)
{
    s_bytes low = s_load(w + four % 4 * 64);
    low = s_and(four < 4 ? low : S_RIGHT(low, 4), 15);
    if (type == PL_Q5_K)
        return s_and_or(bits_to_4(s_load(w + 256), four), 0x10, low);
    if (type == PL_Q6_K)
        return s_and_or(bits_to_4(s_load(w + 256 + four / 4 * 64), four % 4 * 2), 0x30, low);
    return low;
}

/* ------------------------------------------------------------------ scales */

/* Where the runs of scales of a panel's block lie. */
typedef struct block_scales {
    const uint8_t *scales, *super;
} block_scales;

/* Factors of rows v * LANES .. for the values of part 0 or 1 of the block (halves of Q6_K's; elsewhere the same). */
INLINE vf few_factor(pl_type type, block_scales s, int part, int v)
{
    if (type == PL_Q4_0)
        return vf_load_f16(s.scales + v * LANES * 2);
    return vf_mul(vf_load_f16(s.super + v * LANES * 2), vf_load_i8(s.scales + (type == PL_Q6_K ? part * PL_PANEL : 0) + v * LANES));
}

INLINE bool few_has_low(pl_type type)
{
    return type == PL_Q4_K || type == PL_Q5_K;
}

/* What is taken off every value. */
INLINE vf few_low(block_scales s, int v)
{
    return vf_mul(vf_load_f16(s.super + PL_PANEL * 2 + v * LANES * 2), vf_load_i8(s.scales + PL_PANEL + v * LANES));
}

INLINE block_scales scales_of_block(const pl_matrix *m, const uint8_t *panel, int b)
{
    return (block_scales){pl_panel_scales(m, panel, b), pl_panel_super(m, panel, b)};
}

/* ------------------------------------------------------------------ float32 */

/* Byte j of each 32-bit word as a float less `offset`. A byte under the exponent of 2^23 is that number, exactly. */
INLINE vf byte_of(vi words, int j, float offset)
{
    const vi exponent = vi_set1(0x4B000000), low = vi_set1(0xFF);
    vi value = j == 0 ? words : j == 1 ? vi_shift_right(words, 8) : j == 2 ? vi_shift_right(words, 16) : vi_shift_right(words, 24);
    return vf_sub(vf_cast(vi_and_or(value, low, exponent)), vf_set1(8388608.0f + offset));
}

/* The values of k = 4 * four + j of rows v * LANES .., bit for bit the file's. */
INLINE vf few_value(pl_type type, s_bytes bytes, int j, int v, vf factor, vf low)
{
    vf value = vf_mul(factor, byte_of(s_words(bytes, v), j, (float)pl_form_of(type).offset));
    return few_has_low(type) ? vf_sub(value, low) : value;
}

/* Block b of a panel to out[k][row]. */
INLINE void unpack_few_block(const pl_matrix *m, pl_type type, const uint8_t *panel, int b, float *out)
{
    const uint8_t *w = pl_panel_quants(m, panel, b);
    block_scales s = scales_of_block(m, panel, b);
    UNROLL(8)
    for (int four = 0; four < BLOCK / 4; four++) {
        s_bytes bytes = few_bits(type, w, four);
        UNROLL(4)
        for (int v = 0; v < PV; v++) {
            vf factor = few_factor(type, s, four / 4, v), low = few_has_low(type) ? few_low(s, v) : vf_set1(0.0f);
            UNROLL(4)
            for (int j = 0; j < 4; j++)
                vf_store(out + (four * 4 + j) * PL_PANEL + v * LANES, few_value(type, bytes, j, v, factor, low));
        }
    }
}

static void unpack_few(const pl_matrix *m, const uint8_t *panel, int k0, int depth, float *out)
{
    for (int b = k0 / BLOCK; b < (k0 + depth) / BLOCK; b++, out += BLOCK * PL_PANEL)
        switch (m->type) {
        case PL_Q4_0: unpack_few_block(m, PL_Q4_0, panel, b, out); break;
        case PL_Q4_K: unpack_few_block(m, PL_Q4_K, panel, b, out); break;
        case PL_Q5_K: unpack_few_block(m, PL_Q5_K, panel, b, out); break;
        default: unpack_few_block(m, PL_Q6_K, panel, b, out); break;
        }
}
