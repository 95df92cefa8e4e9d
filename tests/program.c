/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main function of all test programs of a directory: runs the named one. */
#include "program.h"

#include <stdio.h>
#include <string.h>

static struct test_program *programs;

void
test_program_register (struct test_program *program)
{
    program->next = programs;
    programs = program;
}

int
main (int argc, char **argv)
{
    for (struct test_program *program = programs; argc == 2 && program; program = program->next)
        if (strcmp (program->name, argv[1]) == 0)
            return program->run ();
    fprintf (stderr, "usage: %s PROGRAM, which is one of:\n", argv[0]);
    for (struct test_program *program = programs; program; program = program->next)
        fprintf (stderr, "    %s\n", program->name);
    return 64;
}
