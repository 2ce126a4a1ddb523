#include "system.h"

#include <iterator>

#include "../platform.h"

namespace rlx::platform {

std::wstring to_wide(const std::string& text) {
  const int length = static_cast<int>(text.size());
  std::wstring wide(static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), length, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), length, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string to_utf8(const std::wstring& wide) {
  const int length = static_cast<int>(wide.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, wide.data(), length, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, wide.data(), length, text.data(), bytes, nullptr, nullptr);
  return text;
}

std::string last_error() {
  const DWORD code = GetLastError();
  wchar_t text[256];
  DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0, text,
                                static_cast<DWORD>(std::size(text)), nullptr);
  while (length > 0 && (text[length - 1] == L'\n' || text[length - 1] == L'\r' || text[length - 1] == L'.')) length--;
  return length > 0 ? to_utf8(std::wstring(text, length)) : "error " + std::to_string(code);
}

// Not `std::atomic::wait`: in libstdc++ up to 12 it looks at the word before it takes the lock that
// it sleeps under, and what wakes it takes none, so a change between the two is missed for good.
void sleep_while(const std::atomic<uint32_t>& word, uint32_t old) {
  WaitOnAddress(const_cast<std::atomic<uint32_t>*>(&word), &old, sizeof old, INFINITE);
}
void wake_one(std::atomic<uint32_t>& word) { WakeByAddressSingle(&word); }
void wake_all(std::atomic<uint32_t>& word) { WakeByAddressAll(&word); }

size_t page_size() {
  static const size_t size = [] {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return static_cast<size_t>(info.dwPageSize);
  }();
  return size;
}

uint8_t* map_zeroed(size_t bytes) {
  return static_cast<uint8_t*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void unmap(uint8_t* data, size_t) { VirtualFree(data, 0, MEM_RELEASE); }

void mark_compute_thread(const char* name) {
  // Older headers lack this function and the names below.
  using Describe = HRESULT(WINAPI*)(HANDLE, PCWSTR);
  const auto describe = reinterpret_cast<Describe>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription")));
  if (describe != nullptr) describe(GetCurrentThread(), to_wide(name).c_str());
  // Full speed, also while the window is in the background.
  constexpr auto kPowerThrottling = static_cast<THREAD_INFORMATION_CLASS>(3);
  struct {
    ULONG version = 1, controls = 1, states = 0;
  } unthrottled;
  SetThreadInformation(GetCurrentThread(), kPowerThrottling, &unthrottled, sizeof unthrottled);
}

}  // namespace rlx::platform
