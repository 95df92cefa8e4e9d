/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a cut has lost, as lines for the user. */
#include "power-cut.h"

#define LINES_MAX 100

void
cut_losses_say (struct cut_losses *losses, const char *format, ...)
{
    va_list args;

    if (losses->told++ >= LINES_MAX)
        return;
    va_start (args, format);
    g_string_append (losses->lines, "  ");
    g_string_append_vprintf (losses->lines, format, args);
    g_string_append_c (losses->lines, '\n');
    va_end (args);
}

void
cut_losses_fail (xlator_t *this, struct cut_losses *losses, const char *what, int r)
{
    losses->failures++;
    gf_log (this, GF_LOG_ERROR, "'%s' could not be taken back to what was durable: %s", what,
            g_strerror (-r));
}

static const char *
several (unsigned n)
{
    return n == 1 ? "" : "s";
}

void
cut_losses_report (xlator_t *this, const struct cut_losses *losses, GString *answer)
{
    g_string_append_printf (answer,
                            "the power is cut: lost %" G_GUINT64_FORMAT
                            " byte%s in %u file%s, %u name%s, "
                            "attributes of %u file%s; seed %" G_GUINT64_FORMAT "\n",
                            losses->bytes, losses->bytes == 1 ? "" : "s", losses->files,
                            several (losses->files), losses->names, several (losses->names),
                            losses->metadata, several (losses->metadata), cut_priv (this)->seed);
    g_string_append (answer, losses->lines->str);
    if (losses->told > LINES_MAX)
        g_string_append_printf (answer, "  and %u more\n", losses->told - LINES_MAX);
    if (losses->failures > 0)
        g_string_append_printf (
            answer, "%u could not be taken back to what was durable: the log says which\n",
            losses->failures);
}
