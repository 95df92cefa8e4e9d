/* switches the watchdog off. Call it at any time. */
/* Reports each request, once, that gets no answer for long. */
#ifndef WINDLASS_CORE_REPORT_WATCHDOG_H
#define WINDLASS_CORE_REPORT_WATCHDOG_H

#include <stdint.h>

/* From now on a request older than so many nanoseconds is logged, once, as a warning, with the
 * translators where it waits. lk and flock are not reported, since they may wait for another
 * process. */
void watchdog_set (int64_t patience);

#endif
