/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes: names, values, sizes, name spaces, kinds of file. */
#include "conform/mount/themes/themes.h"

#include <sys/xattr.h>

static void
show_list (const char *path)
{
    g_autofree char *list = g_malloc (65536);
    const ssize_t n = llistxattr (path, list, 65536);
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    observe_result ("the list", n);
    for (ssize_t at = 0; at < n; at += strlen (list + at) + 1)
        g_ptr_array_add (names, list + at);
    g_ptr_array_sort (names, conform_by_text);
    for (guint i = 0; i < names->len; i++)
        observe ("    %s", (char *) names->pdata[i]);
}

static const struct {
    const char *name, *spec;
} kinds[] = {
    { "file", "F:a" },       { "directory", "d:a" }, { "link", "l:a:b" },
    { "fifo", "p:a" },       { "socket", "s:a" },    { "read-only file", "F:a=0444" },
    { "closed file", "F:a=0" }, { "sticky directory", "d:a=1755" },
};

static const char *const spaces[] = { "user.x",
                                      "trusted.x",
                                      "security.x",
                                      "system.x",
                                      "nonsense.x",
                                      "user.",
                                      "user",
                                      "",
                                      "user.a name with blanks",
                                      "user.\xff\xfe",
                                      "system.posix_acl_access",
                                      "system.posix_acl_default",
                                      "security.capability",
                                      "trusted.",
                                      "USER.x" };

static void
run_space (const struct mount_case *c)
{
    const char *name = spaces[c->b];
    char value[32];

    make_tree (kinds[c->a].spec);
    TELL ("set", lsetxattr ("a", name, "value", 5, 0));
    TELL ("get", lgetxattr ("a", name, value, sizeof value));
    TELL ("get its size", lgetxattr ("a", name, NULL, 0));
    show_list ("a");
    TELL ("replace", lsetxattr ("a", name, "other", 5, XATTR_REPLACE));
    TELL ("create", lsetxattr ("a", name, "other", 5, XATTR_CREATE));
    TELL ("remove", lremovexattr ("a", name));
    TELL ("remove again", lremovexattr ("a", name));
    show_list ("a");
}

static const struct {
    const char *name;
    unsigned size;
} values[] = { { "nothing", 0 },       { "one byte", 1 },        { "1000 bytes", 1000 },
               { "3000 bytes", 3000 }, { "65536 bytes", 65536 }, { "65537 bytes", 65537 } };

static void
run_value (const struct mount_case *c)
{
    const unsigned size = values[c->a].size;
    g_autofree char *value = g_strnfill (size + 1, 'v'), *back = g_malloc0 (70000);
    const int fd = make_file ("file", "x");

    TELL ("set", fsetxattr (fd, "user.value", value, size, 0));
    TELL ("its size", fgetxattr (fd, "user.value", NULL, 0));
    if (TELL ("get", getxattr ("file", "user.value", back, 70000)) >= 0)
        observe ("it is the same: %d", memcmp (value, back, size) == 0);
    TELL ("get in a byte less", fgetxattr (fd, "user.value", back, size > 1 ? size - 1 : 1));
    TELL ("list in one byte", flistxattr (fd, back, 1));
    TELL ("set a smaller one", fsetxattr (fd, "user.value", "small", 5, XATTR_REPLACE));
    TELL ("get it", fgetxattr (fd, "user.value", back, 70000));
    TELL ("remove", fremovexattr (fd, "user.value"));
    TELL ("remove again", fremovexattr (fd, "user.value"));
    close (fd);
}

static void
run_name_size (const struct mount_case *c)
{
    g_autofree char *long_part = g_strnfill (c->a - strlen ("user."), 'n'),
                    *name = g_strconcat ("user.", long_part, NULL);
    char value[8];

    make_tree ("F:file");
    TELL ("set", setxattr ("file", name, "value", 5, 0));
    TELL ("get", getxattr ("file", name, value, sizeof value));
    TELL ("list", listxattr ("file", NULL, 0));
    TELL ("remove", removexattr ("file", name));
}

static void
run_many (const struct mount_case *c)
{
    make_tree ("F:file");
    for (unsigned i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf ("user.%u", i * 7919 % 1000);

        NEED (setxattr ("file", name, name, strlen (name), 0));
    }
    show_list ("file");
    TELL ("flags that exclude each other",
          setxattr ("file", "user.0", "", 0, XATTR_CREATE | XATTR_REPLACE));
    TELL ("flags that don't exist", setxattr ("file", "user.0", "", 0, 8));
    TELL ("a link", symlink ("file", "link"));
    TELL ("through a link", setxattr ("link", "user.link", "x", 1, 0));
    TELL ("it is the file's", getxattr ("file", "user.link", NULL, 0));
    TELL ("not the link's", lgetxattr ("link", "user.link", NULL, 0));
    TELL ("with a hard link", link ("file", "hard"));
    TELL ("it is the same", getxattr ("hard", "user.7", NULL, 0));
}

/* Arbitrary bytes, and the attributes after a rename or a copy over the file. */
static void
run_bytes (const struct mount_case *c)
{
    char value[300], back[300];
    const int fd = make_file ("file", "x");

    for (unsigned i = 0; i < sizeof value; i++)
        value[i] = i;
    TELL ("set", fsetxattr (fd, "user.bytes", value, sizeof value, 0));
    TELL ("get", fgetxattr (fd, "user.bytes", back, sizeof back));
    observe ("the same: %d", memcmp (value, back, sizeof value) == 0);
    TELL ("rename", rename ("file", "other"));
    TELL ("it has it still", getxattr ("other", "user.bytes", back, sizeof back));
    TELL ("truncate", ftruncate (fd, 0));
    TELL ("it has it still", fgetxattr (fd, "user.bytes", back, sizeof back));
    TELL ("open for nothing", fgetxattr (open ("other", O_PATH), "user.bytes", back, sizeof back));
    TELL ("open to read, set", fsetxattr (open ("other", O_RDONLY), "user.read", "x", 1, 0));
    close (fd);
}

void
xattrs_cases (GPtrArray *list)
{
    static const unsigned sizes[] = { 6, 100, 254, 255, 256, 300 };

    for (unsigned kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
        for (unsigned space = 0; space < G_N_ELEMENTS (spaces); space++) {
            g_autofree char *name = g_strescape (*spaces[space] ? spaces[space] : "no name", NULL);

            case_add (list, run_space, kind, space, 0, 0, "xattrs/%s of a %s", name,
                      kinds[kind].name);
        }
    for (unsigned i = 0; i < G_N_ELEMENTS (values); i++)
        case_add (list, run_value, i, 0, 0, 0, "xattrs/a value of %s", values[i].name);
    for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
        case_add (list, run_name_size, sizes[i], 0, 0, 0, "xattrs/a name of %u bytes", sizes[i]);
    case_add (list, run_many, 0, 0, 0, 0, "xattrs/many");
    case_add (list, run_bytes, 0, 0, 0, 0, "xattrs/bytes of any kind");
}
