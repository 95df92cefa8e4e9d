/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that make the xdata of the calls that distribute winds. */
#include "distribute.h"

dict_t *
xdata_internal (void)
{
    dict_t *xdata = dict_new ();

    dict_set_str (xdata, "glusterfs-internal-fop", "yes");
    return xdata;
}

/* With this xdata, the brick checks as part of the unlink that the name is a linkto. A rebalance
 * turns the linkto into the file itself when it moves the file there; the brick then fails the
 * unlink. */
dict_t *
xdata_only_linkto (void)
{
    dict_t *xdata = xdata_internal ();

    dict_set_u64 (xdata, "unlink-only-if-dht-linkto-file", 1);
    return xdata;
}

dict_t *
xdata_without_healing (void)
{
    dict_t *xdata = dict_new ();

    dict_set_u64 (xdata, WITHOUT_HEALING, 1);
    return xdata;
}

dict_t *
xdata_lookup (const dht_private_t *priv, dict_t *xdata, inode_t *inode)
{
    dict_t *wanted = dict_copy (xdata);

    dict_del (wanted, WITHOUT_HEALING);
    dict_del (wanted, "gfid-req"); /* else the brick would give the gfid to a file without one */
    dict_set_u64 (wanted, priv->linkto_key, 256);
    dict_set_u64 (wanted, priv->layout_key, LAYOUT_DISK_SIZE);
    dict_set_u64 (wanted, priv->mds_key, 4);
    if (inode && gfid_equal (&inode->gfid, &gfid_root)) {
        dict_set_u64 (wanted, priv->commit_key, 4);
        dict_set_u64 (wanted, VOLUME_ID, sizeof (gfid_t));
    }
    return wanted;
}
