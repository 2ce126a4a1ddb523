// What the kernel charges a process with, as the bridge asks for it.
#pragma once
#include <stdint.h>
typedef void* rusage_info_t;
#define RUSAGE_INFO_V0 0
struct rusage_info_v0 {
  uint8_t ri_uuid[16];
  uint64_t ri_user_time, ri_system_time, ri_pkg_idle_wkups, ri_interrupt_wkups, ri_pageins, ri_wired_size,
      ri_resident_size;
  uint64_t ri_phys_footprint, ri_proc_start_abstime, ri_proc_exit_abstime;
};
extern "C" int proc_pid_rusage(int pid, int flavor, rusage_info_t* buffer);
