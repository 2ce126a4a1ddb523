// What the model needs to know of arrays beyond their public face.
#pragma once

#import <CoreML/CoreML.h>

#include <string>
#include <vector>

#import "private.h"
#include "spec.h"

@interface MLMultiArray () {
 @public
  coreml_double::Shape shape_, strides_;
  std::vector<uint8_t> owned_;
  uint8_t* memory_;
  void (^deallocator_)(void*);
}
- (nonnull instancetype)initOwned:(const coreml_double::Shape&)shape
                         dataType:(MLMultiArrayDataType)type
                          strides:(const coreml_double::Shape&)strides;
@end

namespace coreml_double {

MLMultiArrayDataType data_type(const std::string& name);
std::string type_name(MLMultiArrayDataType type);
size_t byte_width(MLMultiArrayDataType type);
NSArray<NSNumber*>* _Nonnull numbers_of(const Shape& shape);
Shape shape_of(NSArray<NSNumber*>* _Nonnull numbers);
int64_t product(const Shape& shape);
std::vector<uint8_t> dense(MLMultiArray* _Nonnull array);
void fill(MLMultiArray* _Nonnull array, const std::vector<uint8_t>& bytes);
// Rows padded to `pad` bytes; 0: dense.
MLMultiArray* _Nonnull new_array(const Shape& shape, MLMultiArrayDataType type, int pad);

}  // namespace coreml_double
