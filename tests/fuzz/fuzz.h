/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by all fuzz targets. A target is a function, LLVMFuzzerTestOneInput, that receives
 * arbitrary bytes and must return. It checks conditions with g_assert. With clang the target is
 * linked with libFuzzer, with any other compiler with replay.c, which calls the target with files.
 */
#ifndef WINDLASS_TESTS_FUZZ_H
#define WINDLASS_TESTS_FUZZ_H

#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Called for each input; returns 0. data isn't terminated, and may be NULL if size is 0. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Called once, before the first input; optional. Returns 0. */
int LLVMFuzzerInitialize (int *argc, char ***argv);

static void
trap_is_abort (int number)
{
    abort ();
}

/* A critical message of glib raises SIGTRAP, which libFuzzer does not handle: the input would be
 * lost. */
static void __attribute__ ((constructor))
traps_are_aborts (void)
{
    signal (SIGTRAP, trap_is_abort);
}

/* Input that is consumed in pieces; missing bytes at the end are zeros. */
struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t
input_byte (struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

/* At most size bytes, lent; *ret_size is their number. */
static inline const uint8_t *
input_bytes (struct input *input, size_t size, size_t *ret_size)
{
    const uint8_t *bytes = input->at;

    *ret_size = MIN (size, input->left);
    input->at += *ret_size;
    input->left -= *ret_size;
    return bytes;
}

/* The text up to a newline or to the end, without NULs and the bytes after them. g_free it. */
static inline char *
input_line (struct input *input)
{
    const uint8_t *newline = input->left ? memchr (input->at, '\n', input->left) : NULL;
    size_t size;
    const uint8_t *bytes =
        input_bytes (input, newline ? (size_t) (newline - input->at) : input->left, &size);

    if (newline)
        input_byte (input);
    return g_strndup ((const char *) bytes, size);
}

/* The rest of the input, up to a NUL. g_free it. */
static inline char *
fuzz_input_text (struct input *input)
{
    size_t size;
    const uint8_t *bytes = input_bytes (input, input->left, &size);

    return g_strndup ((const char *) bytes, size);
}

/* Returns whether text is a single line that a terminal shows unchanged. */
static inline bool
is_one_line (const char *text)
{
    for (const unsigned char *p = (const unsigned char *) text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

#endif
