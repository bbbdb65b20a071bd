#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

/* Seconds of a clock that never goes back. */
double pl_seconds(void);

#endif
