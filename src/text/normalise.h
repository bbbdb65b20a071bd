/* Unicode normalisation form C. */
#ifndef PL_TEXT_NORMALISE_H
#define PL_TEXT_NORMALISE_H

#include "text/buffer.h"
#include "text/tokenizer.h"

typedef struct pl_normaliser {
    pl_buffer points, order; /* int32: code points of one stretch; scratch of the reordering */
    pl_buffer text;
} pl_normaliser;

void pl_normaliser_init(pl_normaliser *normaliser, const parley_allocator *allocator);
void pl_normaliser_free(pl_normaliser *normaliser);

/* NFC of valid UTF-8, NULs included. `*out` is `text` itself where nothing can change, else it lies in the normaliser until the next call. Linear
 * in the length. Errors: MEMORY. */
parley_status pl_nfc(pl_normaliser *normaliser, pl_span text, pl_span *out, parley_error *error);

/* True: a starter that NFC leaves alone and that never joins with what stands before it, so that a text may be cut there. A short list of the
 * common scripts; false says nothing. */
bool pl_nfc_inert(uint32_t point);

/* A mark that Unicode has added since the reference's tables were made; inert. */
bool pl_nfc_late_mark(uint32_t point);

#endif
