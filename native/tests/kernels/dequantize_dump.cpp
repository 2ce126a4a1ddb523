// dequantize_dump isas | types | ISA TYPE < blocks > floats: lets dequantize_oracle.py reach a
// table, through an emulator too.
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels.h"

using namespace rlx::kernels;

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "types") == 0) {
    for (const TypeInfo& type : kTypeInfo) std::printf("%s %u %u\n", type.name, type.block, type.bytes);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "isas") == 0) {
    Isa found[kIsaCount];
    const size_t count = available_isas(found);
    for (size_t i = 0; i < count; ++i) std::printf("%s\n", isa_name(found[i]));
    return 0;
  }
  if (argc != 3) return 2;
  const Dispatch* table = dispatch(argv[1]);
  if (table == nullptr) return 3;
  for (size_t t = 0; t < kTypeCount; ++t) {
    if (std::strcmp(kTypeInfo[t].name, argv[2]) != 0) continue;
    std::vector<unsigned char> blocks;
    unsigned char part[4096];
    for (size_t n; (n = std::fread(part, 1, sizeof part, stdin)) > 0;) blocks.insert(blocks.end(), part, part + n);
    const size_t elements = blocks.size() / kTypeInfo[t].bytes * kTypeInfo[t].block;
    std::vector<float> y(elements);
    table->dequantize(static_cast<Type>(t), blocks.data(), y.data(), elements);
    return std::fwrite(y.data(), sizeof(float), elements, stdout) == elements ? 0 : 1;
  }
  return 4;
}
