/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that list the cases of each theme: NAME_cases is in NAME.c. */
#ifndef WINDLASS_CONFORM_MOUNT_THEMES_H
#define WINDLASS_CONFORM_MOUNT_THEMES_H

#include "conform/mount/mount.h"

void acl_cases (GPtrArray *list);
void attributes_cases (GPtrArray *list);
void concurrent_cases (GPtrArray *list);
void data_cases (GPtrArray *list);
void directories_cases (GPtrArray *list);
void links_cases (GPtrArray *list);
void locks_cases (GPtrArray *list);
void mapped_cases (GPtrArray *list);
void offsets_cases (GPtrArray *list);
void paths_cases (GPtrArray *list);
void permissions_cases (GPtrArray *list);
void privileges_cases (GPtrArray *list);
void rename_cases (GPtrArray *list);
void special_cases (GPtrArray *list);
void times_cases (GPtrArray *list);
void unlinked_cases (GPtrArray *list);
void xattrs_cases (GPtrArray *list);

#endif
