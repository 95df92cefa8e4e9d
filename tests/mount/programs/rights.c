/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rights BARE MOUNTED SEED CASES [refused]: runs each case (rights.h) in both directories, with the
 * same system calls, and prints the cases with different results. With `refused`, ENOTDIR and
 * EISDIR are accepted for callers without the right: a kernel that checks no rights first checks
 * the type of the file to remove. A pipe may also be hidden from callers that may not both read and
 * write it. Run by root.
 */
#include "rights.h"

struct came_to {
    int r;
    GString *state;
};

static struct came_to
do_in (const char *dir, const struct rcase *c, uint64_t seed)
{
    g_autofree char *scene = g_build_filename (dir, "scene", NULL);
    struct came_to to = { .state = g_string_new (NULL) };

    scene_make (scene, seed);
    to.r = case_do (c, scene);
    scene_print (scene, 07777, true, to.state);
    scene_remove (scene);
    return to;
}

static bool
same_error (const struct rcase *c, int a, int b, bool refused)
{
    if (c->verb == V_TMPFILE && b == -EOPNOTSUPP) /* this libfuse has none */
        return true;
    return a == b || (refused && (a == -EACCES || a == -EPERM) && (b == -ENOTDIR || b == -EISDIR));
}

static bool
agree (char **argv, uint64_t seed, bool refused)
{
    const struct rcase c = pick_case (seed);
    const struct came_to bare = do_in (argv[1], &c, seed), mounted = do_in (argv[2], &c, seed);
    const bool hidden = refused && mounted.r == -EACCES && strcmp (c.name, "fifo") == 0;
    const bool same_state = strcmp (bare.state->str, mounted.state->str) == 0;
    const bool same = hidden || (same_error (&c, bare.r, mounted.r, refused) && same_state);
    g_autoptr (GString) text = g_string_new (NULL);

    if (!same) {
        case_print (&c, text);
        printf ("seed %" G_GUINT64_FORMAT "\n%sbare: %s, mounted: %s\n%s%s", seed, text->str,
                bare.r < 0 ? strerror (-bare.r) : "done",
                mounted.r < 0 ? strerror (-mounted.r) : "done", bare.state->str,
                same_state ? "" : mounted.state->str);
    }
    g_string_free (bare.state, TRUE);
    g_string_free (mounted.state, TRUE);
    return same;
}

int
main (int argc, char **argv)
{
    uint64_t state;
    unsigned cases, differ = 0;

    if (argc < 5)
        return 2;
    state = strtoull (argv[3], NULL, 10);
    cases = (unsigned) atoi (argv[4]);
    for (unsigned i = 0; i < cases && differ < 5; i++)
        differ += !agree (argv, cases == 1 ? state : rights_draw (&state), argc > 5);
    printf ("seed %s: %u cases, %u differ\n", argv[3], cases, differ);
    return differ ? 1 : 0;
}
