/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options that change while requests run, and commands. Refuses the value given by `refuse`. All
 * requests pass. */
#include "xlator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef struct online_private {
    int number; /* atomic */
    int fixed;
    bool refuse; /* used by the main thread only */
    pthread_mutex_t lock;
    char *text; /* lock */
} online_private_t;

static const struct xlator_option online_options[] = {
    { OPTION ("number", INT, online_private_t, number, "1"), .min = 0, .max = 100, .online = true,
      .help = "a number that may change" },
    { OPTION ("text", STRING, online_private_t, text, NULL), .key[1] = "words", .online = true,
      .help = "a text that may change" },
    { OPTION ("fixed", INT, online_private_t, fixed, "1"), .help = "a number that may not change" },
    { OPTION ("refuse", BOOL, online_private_t, refuse, "off"), .online = true,
      .help = "refuse to take over options with this one on" },
    {},
};

/* A request may be reading the old text, so the text is replaced under the lock. */
static int
online_reconfigure (xlator_t *this, const void *new_private)
{
    online_private_t *priv = this->private;
    const online_private_t *new = new_private;
    char *text = g_strdup (new->text);

    if (new->refuse) {
        g_free (text);
        return -EBUSY;
    }
    __atomic_store_n (&priv->number, new->number, __ATOMIC_RELAXED);
    priv->refuse = new->refuse;
    pthread_mutex_lock (&priv->lock);
    char *old = priv->text;
    priv->text = text;
    pthread_mutex_unlock (&priv->lock);
    g_free (old);
    return 0;
}

static void
online_dump (xlator_t *this, GString *out)
{
    online_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (out, "number=%d\nfixed=%d\ntext=%s\n",
                            __atomic_load_n (&priv->number, __ATOMIC_RELAXED), priv->fixed,
                            priv->text ? priv->text : "");
    pthread_mutex_unlock (&priv->lock);
}

static int
online_show (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    online_dump (this, answer);
    return 0;
}

static int
online_echo (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    gsize size;
    const char *bytes = g_bytes_get_data (asked->input, &size);

    g_string_append_len (answer, bytes, size);
    return size ? 0 : -ENODATA;
}

/* Each request reads the options that a reload changes. */
static void
online_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    online_private_t *priv = this->private;
    size_t length;

    pthread_mutex_lock (&priv->lock);
    length = priv->text ? strlen (priv->text) : 0;
    pthread_mutex_unlock (&priv->lock);
    if (length + __atomic_load_n (&priv->number, __ATOMIC_RELAXED) > 10000)
        STACK_UNWIND (stat, frame, -1, ERANGE, NULL, NULL);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), stat, loc, xdata);
}

static int
online_init (xlator_t *this)
{
    online_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    return 0;
}

static void
online_fini (xlator_t *this)
{
    online_private_t *priv = this->private;

    pthread_mutex_destroy (&priv->lock);
}

static const struct xlator_command online_commands[] = {
    { "show", "print the values that are in force", .run = online_show },
    { "echo", "give back the input, or refuse when there is none", .run = online_echo },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/online",
    .about = "has options that change while it runs",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (online_private_t),
    .options = online_options,
    .init = online_init,
    .fini = online_fini,
    .reconfigure = online_reconfigure,
    .fops = { .stat = online_stat },
    .dumpops = { .priv = online_dump },
    .commands = online_commands,
};
