/* What a script's programs have stored and sent, as values to print (model/value.h): the arguments
 * of events, and whole maps, merged over the CPUs and in order. Addresses, users, cgroups and times
 * get their names here. */
#ifndef FSC_SOURCE_SCRIPT_H
#define FSC_SOURCE_SCRIPT_H

#include "engine/script.h"
#include "model/value.h"

struct fsc_readings;

/* pids: processes whose addresses may be asked for after they have exited. script must outlive
 * *ret, which the caller owns. */
int fsc_readings_new(struct fsc_script *script, const pid_t *pids, size_t n_pids,
		     struct fsc_readings **ret, struct fsc_err *err);
void fsc_readings_free(struct fsc_readings *r);
/* Reads what processes have mapped since the last time: to be called regularly while the script
 * runs, and before names are asked for. */
int fsc_readings_tick(struct fsc_readings *r, struct fsc_err *err);
/* Values given out so far become invalid. */
void fsc_readings_reset(struct fsc_readings *r);

/* The values of an event's arguments, as many as it has. A record shorter than the event says is an
 * error. */
int fsc_readings_event(struct fsc_readings *r, const struct fsc_plan_event *e, const void *record,
		       size_t size, struct fsc_value **ret, struct fsc_err *err);
/* A map: MAP, or the value alone if it has no keys; NONE if that was never set. top: only so many
 * entries, those with the highest values (0: all); numbers are divided by div (0: they are not). */
int fsc_readings_map(struct fsc_readings *r, uint32_t map, uint64_t top, uint64_t div,
		     struct fsc_value *ret, struct fsc_err *err);
/* A time of the boot clock as time since 1970, in ns. */
uint64_t fsc_readings_wall(const struct fsc_readings *r, uint64_t boot_ns);
/* Strings that were longer than their memory. */
uint64_t fsc_readings_cut(const struct fsc_readings *r);

#endif
