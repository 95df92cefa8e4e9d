/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each call that takes a path, with each class of path: the error in the kernel's order, or the
 * effect. */
#include "conform/mount/themes/paths.h"
#include "conform/mount/themes/themes.h"

/* Words in a path that are replaced by longer text. */
#define NAME_255 "<255>"
#define NAME_256 "<256>"
#define PATH_4095 "<4095>"
#define PATH_4096 "<4096>"

static const struct path_class {
    const char *name, *spec, *path, *object; /* object: its times are shown; NULL: none */
    enum { OWN, OF_ROOT } made;              /* owner of the objects */
    bool root_only;                          /* making it needs root, and the case shows no less for
                                                root than for a user */
} classes[] = {
    { "missing", "", "missing", NULL, OWN, false },
    { "file", "F:file", "file", "file", OWN, false },
    { "read-only file", "F:file=0444", "file", "file", OWN, false },
    { "closed file", "F:file=0000", "file", "file", OWN, false },
    { "program", "F:file=0755", "file", "file", OWN, false },
    { "directory", "d:dir", "dir", "dir", OWN, false },
    { "full directory", "d:dir f:dir/in", "dir", "dir", OWN, false },
    { "closed directory", "d:dir=0000", "dir", "dir", OWN, false },
    { "link to a file", "F:file l:link:file", "link", "link", OWN, false },
    { "link to a directory", "d:dir l:link:dir", "link", "link", OWN, false },
    { "link to nothing", "l:link:nothing", "link", "link", OWN, false },
    { "link to itself", "l:link:link", "link", "link", OWN, false },
    { "fifo", "p:fifo", "fifo", "fifo", OWN, false },
    { "socket", "s:socket", "socket", "socket", OWN, false },
    { "device", "c:device", "device", "device", OF_ROOT, true },
    { "missing, with a slash", "", "missing/", NULL, OWN, false },
    { "file, with a slash", "F:file", "file/", "file", OWN, false },
    { "directory, with a slash", "d:dir", "dir/", "dir", OWN, false },
    { "link to a file, with a slash", "F:file l:link:file", "link/", "link", OWN, false },
    { "link to a directory, with a slash", "d:dir l:link:dir", "link/", "link", OWN, false },
    { "link to nothing, with a slash", "l:link:nothing", "link/", "link", OWN, false },
    { "link to itself, with a slash", "l:link:link", "link/", "link", OWN, false },
    { "fifo, with a slash", "p:fifo", "fifo/", "fifo", OWN, false },
    { "below a file", "F:file", "file/x", "file", OWN, false },
    { "below a fifo", "p:fifo", "fifo/x", "fifo", OWN, false },
    { "below a missing one", "", "missing/x", NULL, OWN, false },
    { "below a link to itself", "l:link:link", "link/x", NULL, OWN, false },
    { "through a link", "d:dir F:dir/file l:link:dir", "link/file", "dir/file", OWN, false },
    { "in a directory", "d:dir F:dir/file", "dir/file", "dir", OWN, false },
    { "with two slashes", "d:dir F:dir/file", "dir//file", "dir", OWN, false },
    { "up and down again", "d:dir F:file", "dir/../file", "file", OWN, false },
    { "in an unsearchable directory", "d:dir=0600 F:dir/file", "dir/file", "dir", OWN, false },
    { "in an unreadable directory", "d:dir=0300 F:dir/file", "dir/file", "dir", OWN, false },
    { "in a directory that isn't writable", "d:dir=0555 F:dir/file", "dir/file", "dir", OWN,
      false },
    { "a directory in one that isn't writable", "d:dir=0555 d:dir/sub", "dir/sub", "dir", OWN,
      false },
    { "missing, in a directory that isn't writable", "d:dir=0555", "dir/new", "dir", OWN, false },
    { "another's file", "F:file", "file", "file", OF_ROOT, true },
    { "another's writable file", "F:file=0666", "file", "file", OF_ROOT, true },
    { "another's directory", "d:dir", "dir", "dir", OF_ROOT, true },
    { "in another's directory", "d:dir F:dir/file", "dir/file", "dir", OF_ROOT, true },
    { "another's file in a sticky directory", "d:dir=1777 F:dir/file=0666", "dir/file", "dir",
      OF_ROOT, true },
    { "another's directory in a sticky one", "d:dir=1777 d:dir/sub=0777", "dir/sub", "dir", OF_ROOT,
      true },
    { "a name of 255 bytes", "", NAME_255, NULL, OWN, false },
    { "a name of 256 bytes", "", NAME_256, NULL, OWN, false },
    { "below a name of 256 bytes", "", NAME_256 "/x", NULL, OWN, false },
    { "a path of 4095 bytes", "F:file", PATH_4095 "file", "file", OWN, false },
    { "a path of 4096 bytes", "F:file", PATH_4096 "file", "file", OWN, false },
    { "empty", "", "", NULL, OWN, false },
    { "dot", "", ".", NULL, OWN, false },
    { "dot of a directory", "d:dir", "dir/.", "dir", OWN, false },
    { "dot of a file", "F:file", "file/.", "file", OWN, false },
    { "dot dot of a directory", "d:dir", "dir/..", "dir", OWN, false },
    { "a name with a newline", "f:new\nline", "new\nline", "new\nline", OWN, false },
    { "a new name with a newline", "", "new\nline", NULL, OWN, false },
    { "a name that isn't UTF-8", "f:\xff\xfe\x80", "\xff\xfe\x80", "\xff\xfe\x80", OWN, false },
    { "a new name that isn't UTF-8", "", "\xc0\xaf\xed", NULL, OWN, false },
};

/* "./././file" with a length of `size` bytes. */
static char *
dotted (size_t size, const char *name)
{
    GString *path = g_string_new (size % 2 == strlen (name) % 2 ? "" : "/");

    if (path->len)
        g_string_assign (path, ".//");
    while (path->len + 2 + strlen (name) <= size)
        g_string_append (path, "./");
    g_string_append (path, name);
    g_assert (path->len == size);
    return g_string_free (path, FALSE);
}

static char *
path_of (const struct path_class *class)
{
    static const struct {
        const char *word;
        size_t size;
        bool path;
    } rows[] = { { NAME_255, 255, false },
                 { NAME_256, 256, false },
                 { PATH_4095, 4095, true },
                 { PATH_4096, 4096, true } };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++) {
        const char *rest = g_str_has_prefix (class->path, rows[i].word)
                             ? class->path + strlen (rows[i].word)
                             : NULL;
        g_autofree char *name = g_strnfill (rows[i].size, 'n');

        if (rest)
            return rows[i].path ? dotted (rows[i].size, rest) : g_strconcat (name, rest, NULL);
    }
    return g_strdup (class->path);
}

static void
run_path (const struct mount_case *c)
{
    const struct path_call *call = &path_calls[c->a];
    const struct path_class *class = &classes[c->b];
    g_autofree char *path = path_of (class);

    if (class->root_only && !act_actor ()->privileged) {
        cannot ("needs root to prepare it");
        return;
    }
    if (class->made == OF_ROOT)
        act_become_root ();
    make_tree (class->spec);
    become_actor ();
    make_tree (call->spec ? call->spec : "");
    if (class->object && strncmp (class->object, "dir/", 4) != 0) {
        if (class->made == OF_ROOT)
            act_become_root ();
        age (class->object);
        become_actor ();
    }
    age (".");
    call->run (path, call->argument);
    if (class->object)
        show_age ("the object", class->object);
    show_age ("the directory", ".");
    show_tree (".");
}

void
paths_cases (GPtrArray *list)
{
    for (unsigned call = 0; path_calls[call].name; call++)
        for (unsigned class = 0; class < G_N_ELEMENTS (classes); class++)
            case_add (list, run_path, call, class, 0, 0, "paths/%s: %s", path_calls[call].name,
                      classes[class].name);
}
