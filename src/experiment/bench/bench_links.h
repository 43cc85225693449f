/* bench_links.h - hogring bench links. */
#ifndef HR_BENCH_LINKS_H
#define HR_BENCH_LINKS_H

#include "options/command_line.h"

/* Walk plans over a topology (--topology, --algorithm, --bytes, --root), or show its rings
 * (--find-rings), or the laws of parameter servers (--sweep). Prints, and writes --json. */
HR_CHECKED enum hr_status hr_bench_links(struct hr_cli *cli);

#endif
