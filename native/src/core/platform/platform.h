// What the engine asks of the operating system: memory, mapped files, threads. One folder for each
// system implements it, so that no other file knows which system it runs on. `posix` is what Linux
// and macOS share; `none` holds what only Linux has (huge pages, placement on processors), for the
// others. CMakeLists.txt picks the folders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rlx::platform {

size_t page_size();
// Zeroed pages, or null when the system refuses. They take memory only where they are touched;
// Windows counts all of them against memory and page file.
uint8_t* map_zeroed(size_t bytes);
void unmap(uint8_t* data, size_t bytes);

// Sleeps while `word` holds `old`, until it is woken; it may wake without a reason. To wake is to
// change the word first.
void sleep_while(const std::atomic<uint32_t>& word, uint32_t old);
void wake_one(std::atomic<uint32_t>& word);
void wake_all(std::atomic<uint32_t>& word);

// Names this thread and asks the system to keep it on fast cores.
void mark_compute_thread(const char* name);

struct FileFacts {
  uint64_t device, file;  // the file's identity on this machine
  uint64_t size;
  int64_t modified;  // nanoseconds since 1970
};

// A file, open for reading.
class OpenFile {
 public:
  // INPUT_NOT_FOUND or INPUT_UNREADABLE when it cannot be opened.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // As they are now; nothing for a folder or a device.
  std::optional<FileFacts> facts() const;
  // The system's number for it: a descriptor or a HANDLE.
  intptr_t handle() const { return handle_; }

 private:
  intptr_t handle_;
};

// The first `size` bytes of a file, mapped for reading. A read behind the end of a file that has
// been cut lands on zeros (Windows does not let a mapped file be cut).
class FileMap {
 public:
  // ENV_NO_MEMORY when the system refuses.
  FileMap(const OpenFile& file, size_t size, const std::string& path);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // Whether a read has met the end of a file that was cut.
  bool lost() const;

 private:
  uint8_t* data_;
  size_t size_;
  int guard_ = -1;
};

}  // namespace rlx::platform
