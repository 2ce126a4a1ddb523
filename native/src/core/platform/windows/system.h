// Texts of Windows.
#pragma once

#include <windows.h>

#include <string>

namespace rlx::platform {

// UTF-8 as Windows wants it. Bytes that are no UTF-8 become U+FFFD, which no file has in its name.
std::wstring to_wide(const std::string& text);
std::string to_utf8(const std::wstring& wide);
// What GetLastError says, in UTF-8.
std::string last_error();

}  // namespace rlx::platform
