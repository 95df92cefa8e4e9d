/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists a directory as 32-bit programs do, through the kernel's 32-bit system calls:
 *
 *   list32 DIRECTORY             an offset and a name for each entry; the offset continues after it
 *   list32 DIRECTORY OFFSET      the first name from that offset on, or the error
 *
 * Fails where a number is too large for the program, as the C library does with EOVERFLOW. It needs
 * no C library of its own: gcc -m32 -ffreestanding -fno-builtin -nostdlib -static
 */
#include <stdint.h>

enum { EXIT = 1, WRITE = 4, OPEN = 5, LSEEK = 19, LSTAT = 107, GETDENTS = 141, GETDENTS64 = 220 };

#define EOVERFLOW 75
#define DIRECTORY 0200000

struct old_entry {
    uint32_t ino, off;
    uint16_t size;
    char name[];
};

struct entry {
    uint64_t ino;
    int64_t off;
    uint16_t size;
    uint8_t type;
    char name[];
} __attribute__ ((packed));

static char *directory;
static char buffer[700] __attribute__ ((aligned (8))); /* less than an answer of the daemon */

static int
call (int number, int a, int b, int c)
{
    int result;

    __asm__ volatile ("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

static int
length (const char *text)
{
    int n = 0;

    while (text[n])
        n++;
    return n;
}

static void
print (const char *text)
{
    call (WRITE, 1, (int) text, length (text));
}

static void
print_number (uint32_t number)
{
    char text[12] = { 0 };
    int at = sizeof text - 1;

    do
        text[--at] = (char) ('0' + number % 10);
    while (number /= 10);
    print (text + at);
}

static void
fail (const char *what, int error)
{
    print (what);
    print (": error ");
    print_number ((uint32_t) error);
    print ("\n");
    call (EXIT, 1, 0, 0);
}

static int
check (const char *what, int result)
{
    if (result < 0)
        fail (what, -result);
    return result;
}

static void
stat_entry (const char *name)
{
    static char path[4096], attributes[256];
    int n = 0;

    for (const char *from = directory; *from; from++)
        path[n++] = *from;
    path[n++] = '/';
    for (; *name; name++)
        path[n++] = *name;
    path[n] = 0;
    check (path, call (LSTAT, (int) path, (int) attributes, 0));
}

static void
list (int fd)
{
    int n;

    while ((n = check ("getdents64", call (GETDENTS64, fd, (int) buffer, sizeof buffer))) > 0)
        for (int at = 0; at < n; at += ((struct entry *) (buffer + at))->size) {
            const struct entry *entry = (struct entry *) (buffer + at);

            if (entry->ino >> 32 || entry->off >> 31)
                fail (entry->name, EOVERFLOW);
            print_number ((uint32_t) entry->off);
            print (" ");
            print (entry->name);
            print ("\n");
            stat_entry (entry->name);
        }
}

/* The oldest of the calls gives the same offsets; it cuts off what does not fit. */
static void
list_old (int fd)
{
    int n;

    check ("lseek", call (LSEEK, fd, 0, 0));
    while ((n = check ("getdents", call (GETDENTS, fd, (int) buffer, sizeof buffer))) > 0)
        for (int at = 0; at < n; at += ((struct old_entry *) (buffer + at))->size) {
            const struct old_entry *entry = (struct old_entry *) (buffer + at);

            print_number (entry->off);
            print (" ");
            print (entry->name);
            print ("\n");
        }
}

static void
show_from (int fd, const char *text)
{
    uint32_t offset = 0;
    int n;

    while (*text)
        offset = offset * 10 + (uint32_t) (*text++ - '0');
    check ("lseek", call (LSEEK, fd, (int) offset, 0));
    n = check ("getdents64", call (GETDENTS64, fd, (int) buffer, sizeof buffer));
    print (n ? ((struct entry *) buffer)->name : "(end)");
    print ("\n");
}

__attribute__ ((used)) void
begin (char **stack)
{
    int fd;

    directory = stack[2];
    fd = check (directory, call (OPEN, (int) directory, DIRECTORY, 0));
    if (stack[3]) {
        show_from (fd, stack[3]);
    } else {
        list (fd);
        print ("again\n");
        list_old (fd);
    }
    call (EXIT, 0, 0, 0);
}

__asm__ (".globl _start\n_start: mov %esp, %eax\n and $-16, %esp\n sub $12, %esp\n push %eax\n"
         " call begin\n");
