/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scripts as text: one line for each action of a client, in the order in which the actions begin.
 *
 *   seed 42
 *   clients 2
 *   1 c1 create f0 a rw 0644
 *   2 c2 write f1 4096 20 calm
 *
 * A line begins with its number and its client. With `calm` at its end, gates hold none of its
 * calls and answers. verbs.def has the arguments of each verb.
 */
#include "conform/history/history.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

char
verb_takes (enum verb verb, const char *letters)
{
    const char *found = strpbrk (verb_rows[verb].arguments, letters);

    return found ? *found : '\0';
}

/* The words for flags in a line of a script. Several flags are joined with a plus sign:
 * rw+trunc. */
static const struct flag {
    char argument; /* letter for the kind of flags in the column `arguments` of verbs.def */
    const char *name;
    uint32_t bits;
} flags[] = {
    { 'O', "rw", O_RDWR },
    { 'O', "wo", O_WRONLY },
    { 'O', "ro", O_RDONLY },
    { 'O', "append", O_APPEND },
    { 'O', "trunc", O_TRUNC },
    { 'O', "excl", O_EXCL },
    { 'R', "noreplace", RENAME_NOREPLACE },
    { 'R', "exchange", RENAME_EXCHANGE },
    { 'K', "keep-size", FALLOC_FL_KEEP_SIZE },
    { 'X', "create", XATTR_CREATE },
    { 'X', "replace", XATTR_REPLACE },
};

/* --- lines and histories -------------------------------------------------------------------- */

static void
line_free (void *data)
{
    struct script_line *line = data;

    g_free (line->path);
    g_free (line->word);
    g_free (line);
}

static struct script *
script_new (uint64_t seed, unsigned clients)
{
    struct script *script = g_new0 (struct script, 1);

    script->seed = seed;
    script->clients = clients;
    script->lines = g_ptr_array_new_with_free_func (line_free);
    return script;
}

struct script *
script_copy (const struct script *script)
{
    struct script *copy = script_new (script->seed, script->clients);

    copy->faults = script->faults;
    for (guint i = 0; i < script->lines->len; i++) {
        struct script_line *line = g_memdup2 (script->lines->pdata[i], sizeof *line);
        line->path = g_strdup (line->path);
        line->word = g_strdup (line->word);
        g_ptr_array_add (copy->lines, line);
    }
    return copy;
}

void
script_free (struct script *script)
{
    if (!script)
        return;
    g_ptr_array_unref (script->lines);
    g_free (script);
}

struct script *
script_begin (uint64_t seed, unsigned clients, unsigned faults)
{
    struct script *script = script_new (seed, clients);

    script->faults = faults;
    return script;
}

/* The bytes tell a reader of an error text from which line they are. Each block of eight bytes has
 * a digit, which is the number of the block modulo 10, and seven times a letter for the line's
 * number. */
char *
line_bytes (unsigned number, size_t size)
{
    char *bytes = g_malloc (MAX (size, 1));
    const char letter = number % 52 < 26 ? 'a' + number % 26 : 'A' + number % 26;

    for (size_t i = 0; i < size; i++)
        bytes[i] = i % 8 ? letter : '0' + (char) (i / 8 % 10);
    return bytes;
}

/* --- printing ------------------------------------------------------------------------------- */

static void
print_flags (const struct script_line *line, char argument, GString *out)
{
    const gsize before = out->len;

    for (unsigned i = 0; i < G_N_ELEMENTS (flags); i++) {
        const struct flag *flag = &flags[i];
        const bool access = flag->argument == 'O' && flag->bits <= O_ACCMODE;

        if (flag->argument != argument)
            continue;
        if (access ? (line->flags & O_ACCMODE) == flag->bits : (line->flags & flag->bits) != 0)
            g_string_append_printf (out, "%s%s", out->len == before ? " " : "+", flag->name);
    }
    if (out->len == before)
        g_string_append (out, " -");
}

static void
print_one (const struct script_line *line, char argument, GString *out)
{
    switch (argument) {
    case 'p':
    case 'n': g_string_append_printf (out, " %s", line->path); break;
    case 'd':
    case 't':
    case 'a':
    case 'c': g_string_append_printf (out, " %s", line->word); break;
    case 'f': g_string_append_printf (out, " f%u", line->fd); break;
    case 'g': g_string_append_printf (out, " f%u", line->fd_out); break;
    case 'o':
    case 'l':
    case 'u': g_string_append_printf (out, " %lld", (long long) line->offset); break;
    case 'q': g_string_append_printf (out, " %lld", (long long) line->offset_out); break;
    case 's': g_string_append_printf (out, " %zu", line->size); break;
    case 'm': g_string_append_printf (out, " 0%o", line->mode); break;
    default: print_flags (line, argument, out); break;
    }
}

void
line_print (const struct script_line *line, GString *out)
{
    g_string_append_printf (out, "%u c%u %s", line->number, line->client + 1,
                            verb_rows[line->verb].name);
    for (const char *argument = verb_rows[line->verb].arguments; *argument; argument++)
        print_one (line, *argument, out);
    if (line->calm)
        g_string_append (out, " calm");
}

char *
script_text (const struct script *script)
{
    GString *out = g_string_new (NULL);

    g_string_append_printf (out, "seed %" G_GUINT64_FORMAT "\nclients %u\n", script->seed,
                            script->clients);
    if (script->faults)
        g_string_append_printf (out, "faults %u\n", script->faults);
    for (guint i = 0; i < script->lines->len; i++) {
        line_print (script->lines->pdata[i], out);
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool
read_number (const char *word, uint64_t max, unsigned base, uint64_t *ret_number)
{
    char *end;

    if (!word || !g_ascii_isdigit (*word))
        return false;
    *ret_number = g_ascii_strtoull (word, &end, base);
    return *end == '\0' && *ret_number <= max;
}

static bool
read_flags (char argument, const char *word, uint32_t *ret_flags)
{
    g_auto (GStrv) names = g_strsplit (word, "+", -1);

    *ret_flags = 0;
    for (char **name = names; *name && strcmp (word, "-") != 0; name++) {
        unsigned i = 0;
        while (i < G_N_ELEMENTS (flags)
               && (flags[i].argument != argument || strcmp (flags[i].name, *name) != 0))
            i++;
        if (i == G_N_ELEMENTS (flags))
            return false;
        *ret_flags |= flags[i].bits;
    }
    return true;
}

/* Returns whether the word is a path: names with / between them, or "." for the root. */
static bool
is_path (const char *word)
{
    g_auto (GStrv) names = g_strsplit (word, "/", -1);

    if (strcmp (word, ".") == 0)
        return true;
    for (char **name = names; *name; name++)
        if (!**name || strlen (*name) > NAME_MAX || strcmp (*name, ".") == 0
            || strcmp (*name, "..") == 0)
            return false;
    return *word != '\0' && g_strv_length (names) <= 16;
}

/* argument: letter of the argument (verbs.def). Returns NULL if path is right for it, else an error
 * text. */
static const char *
read_path (char argument, const char *path)
{
    if (is_path (path) && (argument == 'p' || strcmp (path, ".") != 0))
        return NULL;
    return "a path is names with / between them";
}

static const char *
script_read_word (char argument, const char *word)
{
    switch (argument) {
    case 'd': return read_path (argument, word);
    case 't': return strlen (word) < 1000 ? NULL : "a link's target has fewer than 1000 bytes";
    case 'c': return command_is_known (word) ? NULL : "not a command that histories know";
    default:
        return strcmp (word, "user.x") == 0 || strcmp (word, "user.y") == 0
                 ? NULL : "an attribute is user.x or user.y";
    }
}

static const char *
read_number_of (struct script_line *line, char argument, const char *word)
{
    uint64_t n;

    if (!read_number (word, FILE_SIZE_MAX, 10, &n))
        return "offsets and sizes are at most 65536";
    if (argument == 's')
        line->size = n;
    else if (argument == 'q')
        line->offset_out = n;
    else
        line->offset = n;
    return NULL;
}

static const char *
script_read_argument (struct script_line *line, char argument, const char *word)
{
    uint64_t n = 0;

    if (!word)
        return "something is missing";
    switch (argument) {
    case 'p':
    case 'n':
        line->path = g_strdup (word);
        return read_path (argument, word);
    case 'd':
    case 't':
    case 'a':
    case 'c':
        line->word = g_strdup (word);
        return script_read_word (argument, word);
    case 'f':
    case 'g':
        if (word[0] != 'f' || !read_number (word + 1, CLIENT_FDS - 1, 10, &n))
            return "a file is f0, f1 or f2";
        *(argument == 'f' ? &line->fd : &line->fd_out) = n;
        return NULL;
    case 'm':
        line->mode = read_number (word, 07777, 8, &n) ? n : 0;
        return line->mode ? NULL : "a mode is octal, at most 07777";
    case 'O':
    case 'R':
    case 'K':
    case 'X':
        return read_flags (argument, word, &line->flags) ? NULL : "not a flag of this";
    default:
        return read_number_of (line, argument, word);
    }
}

static bool
read_verb (const char *word, enum verb *ret_verb)
{
    for (unsigned i = 0; i < VERB_MAX; i++) {
        *ret_verb = i;
        if (word && strcmp (verb_rows[i].name, word) == 0)
            return true;
    }
    return false;
}

/* Adds a line to the script. words: the words of the line. Returns NULL or an error text. */
static const char *
script_read_line (struct script *script, char **words)
{
    struct script_line *line = g_new0 (struct script_line, 1);
    const char *wrong = NULL;
    uint64_t number, client;
    unsigned n = g_strv_length (words);

    g_ptr_array_add (script->lines, line);
    if (n < 3 || !read_number (words[0], 1000000, 10, &number))
        return "a line is NUMBER cCLIENT WHAT ...";
    if (words[1][0] != 'c' || !read_number (words[1] + 1, script->clients, 10, &client)
        || client == 0)
        return "a client is c1, c2, ... up to `clients`";
    if (!read_verb (words[2], &line->verb))
        return "not something that a client can do";
    line->number = number;
    line->client = client - 1;
    words += 3;
    for (const char *argument = verb_rows[line->verb].arguments; *argument && !wrong; argument++)
        wrong = script_read_argument (line, *argument, *words), words += *words != NULL;
    line->calm = !wrong && *words && strcmp (*words, "calm") == 0;
    return wrong ? wrong : words[line->calm] ? "something is left over" : NULL;
}

static const char *
read_setting (struct script *script, char **words)
{
    uint64_t n;

    if (!words[1] || words[2])
        return "one number is wanted";
    if (strcmp (words[0], "seed") == 0)
        return read_number (words[1], G_MAXUINT64, 10, &script->seed) ? NULL : "not a seed";
    if (strcmp (words[0], "faults") == 0) {
        script->faults = read_number (words[1], 1000, 10, &n) ? n : 1001;
        return script->faults <= 1000 ? NULL : "faults are at most 1000, of 1000 calls";
    }
    script->clients = read_number (words[1], CLIENTS_MAX, 10, &n) ? n : 0;
    return script->clients ? NULL : "clients are 1 to 8";
}

static bool
is_setting (const char *word)
{
    return strcmp (word, "seed") == 0 || strcmp (word, "clients") == 0
        || strcmp (word, "faults") == 0;
}

static const char *
read_text_line (struct script *script, const char *text)
{
    g_auto (GStrv) all = g_strsplit_set (text, " \t\r", -1);
    g_autoptr (GPtrArray) words = g_ptr_array_new ();

    for (char **word = all; *word && **word != '#'; word++)
        if (**word)
            g_ptr_array_add (words, *word);
    g_ptr_array_add (words, NULL);
    if (!words->pdata[0])
        return NULL;
    return is_setting (words->pdata[0]) ? read_setting (script, (char **) words->pdata)
                                        : script_read_line (script, (char **) words->pdata);
}

struct script *
script_read (const char *path, char **ret_error)
{
    g_autoptr (GError) error = NULL;
    g_autofree char *text = NULL;
    struct script *script = script_new (0, 1);
    const char *wrong = NULL;
    unsigned number = 0;

    if (!g_file_get_contents (path, &text, NULL, &error)) {
        *ret_error = g_strdup (error->message);
        script_free (script);
        return NULL;
    }
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    for (; lines[number] && !wrong; number++)
        wrong = read_text_line (script, lines[number]);
    if (!wrong)
        return script;
    *ret_error = g_strdup_printf ("%s:%u: %s: '%s'", path, number, wrong, lines[number - 1]);
    script_free (script);
    return NULL;
}
