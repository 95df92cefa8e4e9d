/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The schedule of a history. Events happen one after the other. The next event is the one with the
 * highest priority among those that are possible. These are the kinds of events: a line begins, if
 * all lines before it have begun and its client is idle; a gate releases a call or an answer that
 * it holds; a brick or protocol/client receives a message; a thread runs until it waits; a timer
 * fires.
 *
 * The priority of an event of a line depends on the seed, the number of the line, and the number of
 * the line's calls and answers so far. It does not depend on the number of all events so far. So if
 * shrinking removes a line, the other lines run in nearly the same order.
 */
#include "conform/history/drive.h"
#include "core/data/loc.h"
#include "core/edge/sync.h"
#include "core/table/opset.h"
#include "core/time/random.h"
#include "core/time/scheduler.h"

#include <stdio.h>
#include <string.h>

/* Kinds of random decisions of this file, for drive_chance. */
enum {
    CHANCE_START,
    CHANCE_RELEASE,
    CHANCE_RELEASE_TOO,
    CHANCE_RELEASE_LATE,
    CHANCE_PASS,
    CHANCE_THREAD,
    CHANCE_TIMER,
    CHANCE_BELOW,
    CHANCE_HOLD,
};

#define LONG (700 * INT64_C (1000000000)) /* nanoseconds after which all caches have expired */
#define LONG_ONE_IN 3 /* before one of so many lines of a narrow script the clock jumps by LONG */

#define HOLD_ONE_IN 8 /* before one of so many lines a hold begins, or ends */

/* Maximum number of timers and threads that run after all files are closed. There is a limit, since
 * some timers set themselves again and again. */
#define TIMERS_IN_THE_END 1000

uint64_t
drive_chance (const struct drive *drive, unsigned kind, unsigned line, unsigned event)
{
    struct random_source source = { drive->script->seed };

    source.state ^= random_next (&source) + ((uint64_t) kind << 48 | (uint64_t) line << 24 | event);
    random_next (&source);
    return random_next (&source);
}

bool
drive_goes_below (const struct drive *drive, const struct script_line *line)
{
    return drive->below && opset_has (OPS_CHANGE, verb_rows[line->verb].op)
        && drive_chance (drive, CHANCE_BELOW, line->number, 0) % 2;
}

struct operation *
drive_record (struct drive *drive, enum fop op, unsigned line, unsigned client)
{
    struct operation *seen = g_new0 (struct operation, 1);

    *seen = (struct operation){ .op = op, .line = line, .client = client, .node = -1, .parent = -1,
                                .newparent = -1, .fd = -1, .fd_out = -1, .found = -1,
                                .keeps_removed = drive->has_trash };
    g_ptr_array_add (drive->seens, seen);
    return seen;
}

void
drive_log (struct drive *drive, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    g_string_append_vprintf (drive->log, format, args);
    va_end (args);
    g_string_append_c (drive->log, '\n');
}

/* --- a line --------------------------------------------------------------------------------- */

static void
actor_forget_way (struct actor *actor)
{
    g_clear_pointer (&actor->names, g_strfreev);
    g_clear_pointer (&actor->inode, inode_unref);
}

void
actor_end (struct actor *actor)
{
    actor_forget_way (actor);
    g_clear_pointer (&actor->parent_inode, inode_unref);
    g_clear_pointer (&actor->own.fd, fd_unref);
    actor->line = NULL;
}

/* Returns whether the client looks up the whole path. Otherwise it leaves the last name out, and
 * looks up the directory that has or gets this name. second: whether it is the line's second
 * path. */
static bool
leads_to_file (const struct script_line *line, bool second)
{
    return !second && verb_takes (line->verb, "p");
}

static void
actor_set_out (struct actor *actor, const char *path, bool second)
{
    actor_forget_way (actor);
    actor->names = strcmp (path, ".") == 0 ? g_new0 (char *, 1) : g_strsplit (path, "/", -1);
    actor->end = g_strv_length (actor->names) - !leads_to_file (actor->line, second);
    actor->at = 0;
    actor->second = second;
    actor->node = 0;
    actor->inode = inode_ref (itable_root (actor->drive->graph->itable));
    actor->stage = STAGE_FIND;
}

/* Looks up the next name of the path. After the last name, begins with the line's second path or,
 * if there is none, starts the line's operation. */
static void
actor_find (struct actor *actor)
{
    const struct script_line *line = actor->line;
    const bool is_directory = actor->inode->ia_type == IA_IFDIR;

    if (actor->at < actor->end) {
        if (is_directory)
            actor_look_up (actor);
        else
            actor_end (actor);
    } else if (!is_directory && !leads_to_file (line, actor->second)) {
        actor_end (actor);
    } else if (verb_takes (line->verb, "d") && !actor->second) {
        actor->parent = actor->node;
        actor->parent_inode = inode_ref (actor->inode);
        actor_set_out (actor, line->word, true);
        actor_find (actor);
    } else {
        actor_do (actor);
    }
}

void
actor_start (struct actor *actor, const struct script_line *line)
{
    g_autoptr (GString) text = g_string_new (NULL);

    line_print (line, text);
    drive_log (actor->drive, "%s", text->str);
    actor->line = line;
    actor->events = 0;
    actor->stage = STAGE_DO;
    if (verb_takes (line->verb, "pn")) {
        actor_set_out (actor, line->path, false);
        actor_find (actor);
    } else {
        actor_do (actor);
    }
}

/* Continues or ends the line of a client after an answer was recorded (drive_answered). */
static void
actor_go_on (struct actor *actor)
{
    actor->answered = false;
    if (actor->stage == STAGE_MORE) {
        actor_more (actor);
    } else if (actor->seen->ret < 0 || actor->seen->found < 0) {
        actor_end (actor);
    } else {
        actor->at++;
        actor_find (actor);
    }
}

/* Continues the lines of all clients that have got an answer, until no client has an answer that
 * was not processed. The next operation of a line may be answered at once. While a translator
 * pauses the graph (core/work/pause.h), no client begins an operation. */
static void
drive_settle (struct drive *drive)
{
    commands_settle (drive);
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
            if (!drive->actors[i].answered || sync_is_held ())
                continue;
            any = true;
            actor_go_on (&drive->actors[i]);
        }
    }
}

/* --- the schedule --------------------------------------------------------------------------- */

/* The event with the highest priority among those that drive_choose has considered so far. */
struct drive_event {
    enum { CHOOSE_NOTHING, CHOOSE_START, CHOOSE_RELEASE, CHOOSE_PARCEL, CHOOSE_THREAD,
           CHOOSE_TIMER } what;
    unsigned which, brick; /* index of the held call or answer, message, or thread; for a message,
                              the number of the brick */
    uint64_t worth; /* priority of the event */
};

static void
drive_offer (struct drive_event *choice, int what, unsigned which, uint64_t worth)
{
    if (choice->what == CHOOSE_NOTHING || worth > choice->worth)
        *choice = (struct drive_event){ what, which, .worth = worth };
}

/* Returns the priority of the release of a held call or answer: the minimum of two random numbers,
 * so that the next line tends to begin first. For an answer of storage in a narrow script
 * (history.h) it is the minimum of four, so that operations of other clients tend to run before the
 * release. */
static uint64_t
release_worth (const struct drive *drive, const struct held_event *held)
{
    const uint64_t a = drive_chance (drive, CHANCE_RELEASE, held->line, held->event);
    const uint64_t b = drive_chance (drive, CHANCE_RELEASE_TOO, held->line, held->event);
    const uint64_t c = drive_chance (drive, CHANCE_RELEASE_LATE, held->line, held->event);

    if (held->answer && held->gate->is_storage && script_is_narrow (drive->script->seed))
        return MIN (MIN (a, b), MIN (c, c << 32 | c >> 32));
    return MIN (a, b);
}

static void
drive_offer_parcels (struct drive_event *choice, const struct drive *drive)
{
    for (guint i = 0; i < drive->bricks->len; i++) {
        const struct brick *brick = drive->bricks->pdata[i];

        for (guint nth = 0; nth < brick->parcels->len; nth++) {
            const uint64_t worth = parcel_worth (drive, i, nth);
            if (choice->what == CHOOSE_NOTHING || worth > choice->worth)
                *choice = (struct drive_event){ CHOOSE_PARCEL, nth, i, worth };
        }
    }
}

/* Returns the possible event with the highest priority. next: the next line to begin, or NULL.
 * step: number of events in the caller's loop. A timer gets a low priority, so that it tends to
 * fire when no other event is possible, as real timers do. While a command is under way, that is a
 * rule: a pause would end before the calls that it waits for. */
static struct drive_event
drive_choose (const struct drive *drive, const struct script_line *next, unsigned step)
{
    struct drive_event choice = { 0 };
    const unsigned threads = scheduler_threads ();

    if (next && !drive->actors[next->client].line && !bricks_wait (drive, next)
        && !commands_wait (drive, next) && !sync_is_held ())
        drive_offer (&choice, CHOOSE_START, 0, drive_chance (drive, CHANCE_START, next->number, 0));
    for (guint i = 0; i < drive->held->len; i++)
        drive_offer (&choice, CHOOSE_RELEASE, i, release_worth (drive, drive->held->pdata[i]));
    drive_offer_parcels (&choice, drive);
    for (unsigned i = 0; i < threads; i++)
        drive_offer (&choice, CHOOSE_THREAD, i, drive_chance (drive, CHANCE_THREAD, i, step));
    if (scheduler_timers () && (!drive->commander || choice.what == CHOOSE_NOTHING))
        drive_offer (&choice, CHOOSE_TIMER, 0, drive_chance (drive, CHANCE_TIMER, 0, step) >> 2);
    return choice;
}

/* Sends the translators XLATOR_HOLDING or XLATOR_HOLD_OVER, as the bridge does around a move to
 * another graph. The clients of the history continue to make calls during the hold. */
static void
drive_hold (struct drive *drive, bool holding)
{
    if (drive->holding == holding)
        return;
    drive->holding = holding;
    drive_log (drive, holding ? "  a hold begins" : "  the hold is over");
    xlator_notify (drive->graph->top, holding ? XLATOR_HOLDING : XLATOR_HOLD_OVER, NULL);
    drive_settle (drive);
}

/* Begins the next line. In a narrow script (history.h) the clock jumps ahead before some lines, so
 * that cached data expire and the caches read from storage again. */
static void
drive_begin_line (struct drive *drive, const struct script_line *next)
{
    if (script_is_narrow (drive->script->seed)
        && drive_chance (drive, CHANCE_PASS, next->number, 0) % LONG_ONE_IN == 0) {
        drive_log (drive, "  time passes");
        scheduler_pass (LONG);
    }
    if (drive_chance (drive, CHANCE_HOLD, next->number, 0) % HOLD_ONE_IN == 0)
        drive_hold (drive, !drive->holding);
    bricks_before_line (drive, next);
    reload_end_olds (drive);
    actor_start (&drive->actors[next->client], next);
}

static void
drive_act (struct drive *drive, const struct drive_event *choice, const struct script_line *next)
{
    switch (choice->what) {
    case CHOOSE_START: drive_begin_line (drive, next); break;
    case CHOOSE_RELEASE: gate_release (drive, choice->which); break;
    case CHOOSE_PARCEL:
        brick_deliver (drive->bricks->pdata[choice->brick], choice->which);
        break;
    case CHOOSE_THREAD: scheduler_run (choice->which); break;
    case CHOOSE_TIMER:
        drive_log (drive, "  a timer is called");
        scheduler_fire ();
        break;
    default: break;
    }
    drive_settle (drive);
}

static bool
drive_is_idle (const struct drive *drive)
{
    for (unsigned i = 0; i <= CLIENTS_MAX; i++)
        if (drive->actors[i].line)
            return false;
    return true;
}

static char *
drive_stuck (const struct drive *drive)
{
    GString *out = g_string_new (NULL);

    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        const struct actor *actor = &drive->actors[i];
        if (!actor->line)
            continue;
        g_autofree char *where = actor->line->verb == VERB_command
                                   ? g_strdup ("the command's job has not ended\n")
                                   : stack_describe (actor->root);
        g_string_append_printf (
            out, "line %u, client %u: no answer, and no event is left that could bring it\n%s",
            actor->line->number, i + 1, where);
    }
    return g_string_free (out, FALSE);
}

/* Runs all lines of the script. Returns NULL, or an error text if an operation gets no answer. */
static char *
drive_lines (struct drive *drive)
{
    const GPtrArray *lines = drive->script->lines;
    guint begun = 0;

    for (unsigned step = 0; begun < lines->len || drive->held->len || !drive_is_idle (drive);
         step++) {
        const struct script_line *next = begun < lines->len ? lines->pdata[begun] : NULL;
        const struct drive_event choice = drive_choose (drive, next, step);

        if (choice.what == CHOOSE_NOTHING)
            return drive_stuck (drive);
        begun += choice.what == CHOOSE_START;
        drive_act (drive, &choice, next);
    }
    return NULL;
}

/* --- the end: reads everything back --------------------------------------------------------- */

/* Runs one more line after those of the script, while all other clients are idle. The number of the
 * step changes in each round of the loop, and with it the random priorities of threads and timers.
 * With constant priorities, a timer that sets itself again and again could always come before the
 * thread whose work the line needs. */
char *
drive_line_run (struct drive *drive, const struct script_line *line)
{
    struct actor *actor = &drive->actors[line->client];

    actor_start (actor, line);
    drive_settle (drive);
    for (unsigned step = 0; actor->line; step++) {
        const struct drive_event choice = drive_choose (drive, NULL, step);
        if (choice.what == CHOOSE_NOTHING)
            return drive_stuck (drive);
        drive_act (drive, &choice, NULL);
    }
    return NULL;
}

char *
drive_line (struct drive *drive, struct actor *actor, enum verb verb, const char *path, unsigned fd)
{
    const struct script_line line = { .number = 1000001 + (verb == VERB_ls),
                               .client = actor->index,
                               .verb = verb,
                               .path = (char *) path,
                               .fd = fd,
                               .calm = true };

    return drive_line_run (drive, &line);
}

static char *
drive_close_all (struct drive *drive)
{
    char *wrong = NULL;

    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        for (unsigned fd = 0; fd < CLIENT_FDS && !wrong; fd++)
            if (drive->actors[i].files[fd].fd)
                wrong = drive_line (drive, &drive->actors[i], VERB_close, NULL, fd);
    for (unsigned n = 0; n < TIMERS_IN_THE_END && scheduler_step (); n++)
        drive_settle (drive);
    reload_end_olds (drive);
    return wrong;
}

/* Returns the record of the last operation of this kind by the client that reads all files back at
 * the end, or NULL. Records before the index `first` in drive->seens are left out, since they are
 * of other paths. */
static const struct operation *
last_operation (const struct drive *drive, guint first, enum fop op)
{
    for (guint i = drive->seens->len; i-- > first;) {
        const struct operation *seen = drive->seens->pdata[i];
        if (seen->op == op && seen->client == CLIENTS_MAX)
            return seen;
    }
    return NULL;
}

/* Reads the file, directory or symbolic link at the path, and adds a line about it to drive->tree.
 * For a directory, adds a letter for the type and the path of each entry to todo. letter: d, l or
 * f, the type of the object at the path. */
static char *
drive_look (struct drive *drive, const char *path, char letter, GQueue *todo)
{
    struct actor *actor = &drive->actors[CLIENTS_MAX];
    const enum verb verb = letter == 'd' ? VERB_ls : letter == 'l' ? VERB_readlink : VERB_cat;
    const guint first = drive->seens->len;
    char *wrong = drive_line (drive, actor, verb, path, 0);
    const struct operation *found = last_operation (drive, first, FOP_lookup),
                      *what = last_operation (drive, first, verb_rows[verb].op);

    if (wrong)
        return wrong;
    if (strcmp (path, ".") != 0 && found)
        tree_add (drive->tree, path, found->iatt.ia_type, found->iatt.ia_prot,
                  letter == 'd' || !what ? NULL : what->data);
    for (guint i = 0; letter == 'd' && what && what->names && i < what->names->len; i++) {
        const char *name = what->names->pdata[i], *above = strcmp (path, ".") == 0 ? "" : path;
        g_queue_push_tail (todo,
                           g_strdup_printf ("%c%s%s%.*s", name[strlen (name) - 1], above,
                                            *above ? "/" : "", (int) strlen (name) - 1, name));
    }
    return NULL;
}

char *
drive_look_at_all (struct drive *drive)
{
    GQueue todo = G_QUEUE_INIT;
    char *wrong = NULL;

    g_string_truncate (drive->tree, 0);
    g_queue_push_tail (&todo, g_strdup ("d."));
    while (!wrong && todo.length) {
        g_autofree char *path = g_queue_pop_head (&todo);
        wrong = drive_look (drive, path + 1, path[0], &todo);
    }
    g_queue_clear_full (&todo, g_free);
    return wrong;
}

char *
drive_run (struct drive *drive)
{
    char *wrong = drive->options->lowers ? lowers_look (drive) : NULL;

    if (!wrong)
        wrong = drive_lines (drive);
    drive->calm = true;
    if (!wrong)
        drive_hold (drive, false);
    if (!wrong)
        wrong = bricks_all_begin (drive);
    if (!wrong)
        wrong = drive_close_all (drive);
    if (!wrong)
        wrong = drive_look_at_all (drive);
    return wrong ? wrong : commands_in_the_end (drive);
}
