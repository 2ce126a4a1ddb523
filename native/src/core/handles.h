// Ids for JavaScript: a slot and its generation in one number, so that an id of something disposed
// is never mistaken for its successor. Objects are shared: a job or a dependant keeps what it uses
// alive.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "error.h"

namespace rlx {

class Handles {
 public:
  template <class T>
  double add(std::shared_ptr<T> object) {
    size_t slot = 0;
    while (slot < entries_.size() && entries_[slot].object) slot++;
    if (slot == kSlots) fail(Code::env_no_memory, "[handle] too many objects: got %zu", slot);
    if (slot == entries_.size()) entries_.emplace_back();
    Entry& entry = entries_[slot];
    entry.generation++;
    entry.type = type_of<T>();
    entry.object = std::move(object);
    return static_cast<double>(slot) + static_cast<double>(entry.generation) * kSlots;
  }

  template <class T>
  std::shared_ptr<T> get(double id, const char* what) const {
    const Entry* entry = find(id);
    if (entry == nullptr || entry->type != type_of<T>())
      fail(Code::handle_unknown, "[handle] no such %s: it was disposed, or never existed", what);
    return std::static_pointer_cast<T>(entry->object);
  }

  // False when it is gone already: disposing twice is no error. Running jobs keep the object until
  // they end.
  bool remove(double id) {
    Entry* entry = const_cast<Entry*>(find(id));
    if (entry == nullptr) return false;
    entry->object.reset();
    entry->type = nullptr;
    return true;
  }

  // As remove, but returns the object, which must end on a thread of its own; null when it is gone.
  std::shared_ptr<void> take(double id) {
    Entry* entry = const_cast<Entry*>(find(id));
    if (entry == nullptr) return nullptr;
    entry->type = nullptr;
    return std::exchange(entry->object, nullptr);
  }

  template <class T>
  size_t count() const {
    size_t total = 0;
    for (const Entry& entry : entries_) total += entry.type == type_of<T>();
    return total;
  }
  void clear() { entries_.clear(); }

 private:
  static constexpr size_t kSlots = size_t{1} << 16;
  struct Entry {
    std::shared_ptr<void> object;
    const void* type = nullptr;
    uint32_t generation = 0;
  };
  template <class T>
  static const void* type_of() {
    static const char tag = 0;
    return &tag;
  }
  const Entry* find(double id) const {
    if (!(id >= 0) || id > 9007199254740991.0) return nullptr;
    const auto whole = static_cast<uint64_t>(id);
    const size_t slot = whole % kSlots;
    if (slot >= entries_.size() || !entries_[slot].object || entries_[slot].generation != whole / kSlots)
      return nullptr;
    return &entries_[slot];
  }

  std::vector<Entry> entries_;
};

}  // namespace rlx
