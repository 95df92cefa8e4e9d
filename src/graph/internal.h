/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of this folder share. */
#ifndef WINDLASS_GRAPH_INTERNAL_H
#define WINDLASS_GRAPH_INTERNAL_H

#include "core/base/suggest.h"
#include "graph/graph.h"

/* problem.c */

struct volfile_place {
    int line, column;
};

#define WHOLE_FILE ((struct volfile_place){ 0, 0 })
#define COMMAND_LINE ((struct volfile_place){ LINE_OF_COMMAND, 0 })

/* Adds "volume 'x': text", or only the text if volume is NULL. Drops problems after
 * PROBLEMS_MAX. */
#define PROBLEMS_MAX 100
void problem_error (struct volfile *volfile, struct volfile_place place, const char *volume,
                    const char *format, ...) G_GNUC_PRINTF (4, 5);
void problem_warning (struct volfile *volfile, struct volfile_place place, const char *volume,
                      const char *format, ...) G_GNUC_PRINTF (4, 5);
bool problems_full (const struct volfile *volfile);
void problems_sort (struct volfile *volfile);
void problem_free (struct problem *problem);

/* lexer.c */

enum keyword {
    KEYWORD_NONE, /* not a keyword, or quoted */
    KEYWORD_VOLUME,
    KEYWORD_TYPE,
    KEYWORD_OPTION,
    KEYWORD_SUBVOLUMES,
    KEYWORD_END_VOLUME,
};

struct token {
    char *text; /* NULL at the end of the file */
    enum keyword keyword;
    struct volfile_place place;
    bool bad; /* a problem in it was reported */
};

struct lexer {
    struct volfile *volfile;
    const char *at, *end, *line_start;
    int line;
};

extern const char *const keyword_names[]; /* indexed by enum keyword, from KEYWORD_VOLUME on */

void lexer_init (struct lexer *lexer, struct volfile *volfile, size_t size);
void lexer_next (struct lexer *lexer, struct token *ret_token);
void token_clear (struct token *token);

/* Returns whether a word must be quoted in a volfile. */
bool word_needs_quotes (const char *word);

/* module.c */

/* Returns whether type is "category/name", without characters that could leave the folder of
 * modules. */
bool type_is_valid (const char *type);

/* Returns the type for which `type` is another name in GlusterFS, or type itself. */
const char *type_canonical (const char *type);

/* foreign.c */

/* Leaves volumes out, or refuses them, whose type is one of GlusterFS that has no module here. */
void foreign_leave_out (struct volfile *volfile, const char *const *xlator_dirs);

/* options.c */

/* A translator under construction, and its volume. */
struct loading {
    xlator_t *xlator;
    const struct volfile_volume *volume;
};

/* Finds the row of each option in the volfile, and stores its text in the setting. */
void options_from_volfile (struct volfile *volfile, const struct loading *loading);

/* The same for options of the command line. loadings: struct loading, of the whole graph. */
void
options_from_command (struct volfile *volfile, GPtrArray *loadings, const char *const *options);

/* Checks and stores all options, with the defaults. */
void options_apply (struct volfile *volfile, const struct loading *loading);

/* Returns whether the option may change while the translator runs. */
bool setting_is_online (const xlator_t *xl, const struct option_setting *setting);

/* needs.c */

/* Checks the number of children, top_only, once, and, if the links between volumes are sound, the
 * types required above and below. */
void needs_check (struct volfile *volfile, const struct loading *loading, bool sound);

/* inodes.c */

/* Finds the realms, assigns slots, and creates the tables of inodes. */
void graph_wire (struct graph *graph, size_t inode_limit);

/* Leaves all tables of inodes. */
void graph_leave_tables (struct graph *graph);

#endif
