#import "objc.h"
#import <IOKit/IOKitLib.h>
#import <Metal/Metal.h>
#include <libproc.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <unistd.h>

// What this Mac is, as the system tells it.
namespace rlx::coreml {
namespace {

std::string text(const char* name) {
  size_t size = 0;
  if (sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return "";
  std::string value(size, '\0');
  if (sysctlbyname(name, value.data(), &size, nullptr, 0) != 0) return "";
  return value.c_str();
}

// Numbers come as 4 or 8 bytes.
int number(const char* name) {
  int64_t value = 0;
  size_t size = sizeof value;
  if (sysctlbyname(name, &value, &size, nullptr, 0) != 0) return 0;
  return size == sizeof(int32_t) ? static_cast<int>(*reinterpret_cast<int32_t*>(&value)) : static_cast<int>(value);
}

uint64_t footprint() {
  rusage_info_v0 info = {};
  return proc_pid_rusage(getpid(), RUSAGE_INFO_V0, reinterpret_cast<rusage_info_t*>(&info)) == 0
             ? info.ri_phys_footprint
             : 0;
}

const char* thermal_name(NSProcessInfoThermalState state) {
  switch (state) {
    case NSProcessInfoThermalStateNominal: return "nominal";
    case NSProcessInfoThermalStateFair: return "fair";
    case NSProcessInfoThermalStateSerious: return "serious";
    case NSProcessInfoThermalStateCritical: return "critical";
  }
  return "nominal";
}

// The Neural Engine: Core ML's own word from macOS 14 on, the registry before.
void find_ane(Machine& into) {
  if (@available(macOS 14.0, *)) {
    for (id<MLComputeDeviceProtocol> device in MLAllComputeDevices())
      if ([device isKindOfClass:[MLNeuralEngineComputeDevice class]]) {
        into.ane = true;
        into.ane_cores = static_cast<int>(((MLNeuralEngineComputeDevice*)device).totalCoreCount);
      }
    return;
  }
  const io_service_t service = IOServiceGetMatchingService(kIOMainPortDefault, IOServiceMatching("H11ANEIn"));
  into.ane = service != 0;
  if (service != 0) IOObjectRelease(service);
}

}  // namespace

Machine machine() {
  return guarded("machine", [] {
    Machine made;
    made.model = text("hw.model");
    made.chip = text("machdep.cpu.brand_string");
    if (number("hw.nperflevels") > 0) {
      made.performance_cores = number("hw.perflevel0.physicalcpu");
      made.efficiency_cores = number("hw.nperflevels") > 1 ? number("hw.perflevel1.physicalcpu") : 0;
    }
    made.rosetta = number("sysctl.proc_translated") == 1;
    NSProcessInfo* info = NSProcessInfo.processInfo;
    const NSOperatingSystemVersion version = info.operatingSystemVersion;
    made.os_major = static_cast<int>(version.majorVersion);
    made.os_minor = static_cast<int>(version.minorVersion);
    made.os = std::to_string(version.majorVersion) + "." + std::to_string(version.minorVersion) + "." +
              std::to_string(version.patchVersion);
    // "24F74": two systems of one version differ in it, and Core ML with them.
    made.os_build = text("kern.osversion");
    made.memory_bytes = info.physicalMemory;
    made.process_bytes = footprint();
    made.thermal = thermal_name(info.thermalState);
    made.low_power = info.lowPowerModeEnabled;
    if (id<MTLDevice> gpu = MTLCreateSystemDefaultDevice()) {
      made.gpu = text_of(gpu.name);
      made.unified_memory = gpu.hasUnifiedMemory;
      made.gpu_bytes = gpu.recommendedMaxWorkingSetSize;
    }
    find_ane(made);
    return made;
  });
}

}  // namespace rlx::coreml
