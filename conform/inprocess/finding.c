/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Findings in the current case. */
#include "conform/inprocess/inprocess.h"

#include <string.h>

static struct {
    GMutex lock;        /* a leaf */
    GPtrArray *texts;   /* lock */
    GPtrArray *keys;    /* lock */
    unsigned said;      /* number of findings; lock */
    GRand *random;      /* lock */
    char *name;
} findings;

void
findings_begin (const char *case_name, uint64_t seed)
{
    g_mutex_lock (&findings.lock);
    if (!findings.texts) {
        findings.texts = g_ptr_array_new_with_free_func (g_free);
        findings.keys = g_ptr_array_new_with_free_func (g_free);
        findings.random = g_rand_new ();
    }
    g_ptr_array_set_size (findings.texts, 0);
    g_ptr_array_set_size (findings.keys, 0);
    g_free (findings.name);
    findings.name = g_strdup (case_name);
    g_rand_set_seed_array (findings.random, (guint32[]){ seed, seed >> 32, g_str_hash (case_name) },
                           3);
    g_mutex_unlock (&findings.lock);
}

unsigned
finding_random (unsigned n)
{
    unsigned number;

    g_mutex_lock (&findings.lock);
    number = g_rand_int_range (findings.random, 0, n);
    g_mutex_unlock (&findings.lock);
    return number;
}

/* Keeps a finding; equal ones are kept once per case. */
static void
finding_keep (char *key, char *text)
{
    bool known = false;

    g_mutex_lock (&findings.lock);
    findings.said++;
    for (guint i = 0; findings.texts && i < findings.texts->len; i++)
        known |= strcmp (findings.texts->pdata[i], text) == 0;
    if (findings.texts && !known && findings.texts->len < 20) {
        g_ptr_array_add (findings.texts, text);
        g_ptr_array_add (findings.keys, key);
    } else {
        g_free (text);
        g_free (key);
    }
    g_mutex_unlock (&findings.lock);
}

void
finding_add (const char *kind, const xlator_t *who, enum fop op, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    g_autofree char *more = g_strdup_vprintf (format, args);
    va_end (args);
    char *text = who ? g_strdup_printf ("%s: '%s' (%s), %s: %s", kind, who->name, who->type,
                                        fop_name (op), more)
                     : g_strdup_printf ("%s: %s: %s", kind, fop_name (op), more);
    finding_keep (g_strdup_printf ("%s|%s|%s", kind, who ? who->name : "", fop_name (op)), text);
}

void
finding_add_type (const char *kind, const char *type, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    g_autofree char *more = g_strdup_vprintf (format, args);
    va_end (args);
    finding_keep (g_strdup_printf ("%s|%s|", kind, type),
                  g_strdup_printf ("%s: %s: %s", kind, type, more));
}

unsigned
findings_count (void)
{
    unsigned n;

    g_mutex_lock (&findings.lock);
    n = findings.said;
    g_mutex_unlock (&findings.lock);
    return n;
}

const char *
findings_by_design (const struct conform_options *options, const struct graph *graph)
{
    const char *reason = NULL;

    g_mutex_lock (&findings.lock);
    for (guint i = 0; i < findings.keys->len && (reason || i == 0); i++) {
        reason = inprocess_by_design (graph, findings.name, findings.keys->pdata[i]);
        if (!reason)
            reason = conform_allowed (options, findings.name, findings.texts->pdata[i]);
    }
    g_mutex_unlock (&findings.lock);
    return reason;
}

char *
findings_end (char **ret_key)
{
    char *text = NULL;

    *ret_key = NULL;
    g_mutex_lock (&findings.lock);
    if (findings.texts->len > 0) {
        g_ptr_array_add (findings.texts, NULL);
        text = g_strjoinv ("\n", (char **) findings.texts->pdata);
        *ret_key = g_strdup (findings.keys->pdata[0]);
        g_ptr_array_set_size (findings.texts, 0);
        g_ptr_array_set_size (findings.keys, 0);
    }
    g_mutex_unlock (&findings.lock);
    return text;
}
