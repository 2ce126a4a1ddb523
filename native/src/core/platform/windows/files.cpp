#include "../../error.h"
#include "../platform.h"
#include "system.h"

namespace rlx::platform {
namespace {

HANDLE handle_of(const OpenFile& file) { return reinterpret_cast<HANDLE>(file.handle()); }
uint64_t join(DWORD high, DWORD low) { return uint64_t{high} << 32 | low; }

}  // namespace

// Others may write to the file or replace it meanwhile, as on other systems: the engine notices it.
OpenFile::OpenFile(const std::string& path)
    : handle_(reinterpret_cast<intptr_t>(CreateFileW(to_wide(path).c_str(), GENERIC_READ,
                                                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                                     OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr))) {
  if (handle_of(*this) != INVALID_HANDLE_VALUE) return;
  const DWORD error = GetLastError();
  const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
  fail(missing ? Code::input_not_found : Code::input_unreadable, "[weights] cannot open %s: %s", path.c_str(),
       last_error().c_str());
}

OpenFile::~OpenFile() { CloseHandle(handle_of(*this)); }

std::optional<FileFacts> OpenFile::facts() const {
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileType(handle_of(*this)) != FILE_TYPE_DISK || !GetFileInformationByHandle(handle_of(*this), &info))
    return std::nullopt;
  // Windows counts in 100 ns since 1601.
  constexpr int64_t kTicksTo1970 = 116444736000000000;
  const auto ticks =
      static_cast<int64_t>(join(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime));
  return FileFacts{info.dwVolumeSerialNumber, join(info.nFileIndexHigh, info.nFileIndexLow),
                   join(info.nFileSizeHigh, info.nFileSizeLow), (ticks - kTicksTo1970) * 100};
}

FileMap::FileMap(const OpenFile& file, size_t size, const std::string& path) : data_(nullptr), size_(size) {
  const HANDLE section = CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (section != nullptr) data_ = static_cast<uint8_t*>(MapViewOfFile(section, FILE_MAP_READ, 0, 0, size));
  const std::string why = data_ == nullptr ? last_error() : "";
  if (section != nullptr) CloseHandle(section);  // the view keeps it
  if (data_ == nullptr)
    fail(Code::env_no_memory, "[weights] cannot map %s (%zu bytes): %s", path.c_str(), size, why.c_str());
}

FileMap::~FileMap() { UnmapViewOfFile(data_); }

bool FileMap::lost() const { return false; }

}  // namespace rlx::platform
