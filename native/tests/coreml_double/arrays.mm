// Arrays and features: memory with strides, values by name.
#import <CoreML/CoreML.h>
#import "arrays.h"

#include <cstring>

using namespace coreml_double;

namespace coreml_double {

MLMultiArrayDataType data_type(const std::string& name) {
  if (name == "fp16") return MLMultiArrayDataTypeFloat16;
  if (name == "fp32") return MLMultiArrayDataTypeFloat32;
  if (name == "fp64") return MLMultiArrayDataTypeDouble;
  if (name == "int8") return static_cast<MLMultiArrayDataType>(0x20008);
  return MLMultiArrayDataTypeInt32;
}
std::string type_name(MLMultiArrayDataType type) {
  switch (static_cast<NSInteger>(type)) {
    case 0x10010: return "fp16";
    case 0x10020: return "fp32";
    case 0x10040: return "fp64";
    case 0x20008: return "int8";
    default: return "int32";
  }
}
size_t byte_width(MLMultiArrayDataType type) { return (static_cast<size_t>(type) & 0xffff) / 8; }

NSArray<NSNumber*>* numbers_of(const Shape& shape) {
  NSMutableArray<NSNumber*>* made = [NSMutableArray new];
  for (int64_t dim : shape) [made addObject:@(static_cast<long long>(dim))];
  return made;
}
Shape shape_of(NSArray<NSNumber*>* numbers) {
  Shape made;
  for (NSNumber* number in numbers) made.push_back(number.longLongValue);
  return made;
}
int64_t product(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}
static Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}
// As results of the Neural Engine come: rows start at multiples of `pad` bytes, and planes have a
// spare row.
static Shape padded(const Shape& shape, size_t width, int pad) {
  Shape strides = row_major(shape);
  if (shape.size() < 2 || pad <= 0) return strides;
  const int64_t unit = std::max<int64_t>(1, pad / static_cast<int64_t>(width));
  strides[shape.size() - 2] = (shape.back() + unit - 1) / unit * unit;
  for (size_t i = shape.size() - 1; i-- > 1;)
    strides[i - 1] = strides[i] * shape[i] + (i == shape.size() - 2 ? strides[i] : 0);
  return strides;
}
template <class Visit>
static void each_row(const Shape& shape, const Shape& strides, Visit&& visit) {
  const int64_t row = shape.empty() ? 1 : shape.back();
  const int64_t rows = row == 0 ? 0 : product(shape) / row;
  for (int64_t index = 0; index < rows; index++) {
    int64_t offset = 0, rest = index;
    for (size_t i = shape.size() - 1; i-- > 0 && shape.size() > 1;) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    visit(index * row, offset, row);
  }
}
std::vector<uint8_t> dense(MLMultiArray* array) {
  const size_t width = byte_width(array.dataType);
  std::vector<uint8_t> made(static_cast<size_t>(product(array->shape_)) * width);
  const int64_t step = array->strides_.empty() ? 1 : array->strides_.back();
  each_row(array->shape_, array->strides_, [&](int64_t to, int64_t from, int64_t count) {
    for (int64_t i = 0; i < count; i++)
      std::memcpy(made.data() + static_cast<size_t>(to + i) * width,
                  array->memory_ + static_cast<size_t>(from + i * step) * width, width);
  });
  return made;
}
void fill(MLMultiArray* array, const std::vector<uint8_t>& bytes) {
  const size_t width = byte_width(array.dataType);
  const int64_t step = array->strides_.empty() ? 1 : array->strides_.back();
  each_row(array->shape_, array->strides_, [&](int64_t from, int64_t to, int64_t count) {
    for (int64_t i = 0; i < count; i++)
      std::memcpy(array->memory_ + static_cast<size_t>(to + i * step) * width,
                  bytes.data() + static_cast<size_t>(from + i) * width, width);
  });
}
MLMultiArray* new_array(const Shape& shape, MLMultiArrayDataType type, int pad) {
  return [[MLMultiArray alloc] initOwned:shape dataType:type strides:padded(shape, byte_width(type), pad)];
}

}  // namespace coreml_double

NSString* const MLModelErrorDomain = @"com.apple.CoreML";

@implementation MLMultiArray
@synthesize dataType = _dataType;
- (instancetype)initOwned:(const Shape&)shape dataType:(MLMultiArrayDataType)type strides:(const Shape&)strides {
  shape_ = shape;
  strides_ = strides;
  _dataType = type;
  int64_t last = 1;
  for (size_t i = 0; i < shape.size(); i++) last += (shape[i] - 1) * strides[i];
  const int64_t elements = strides.empty() ? 1 : std::max(last, strides[0] * shape[0]);
  // Uninitialised, as documented: here with a pattern that is no sensible number.
  owned_.assign(static_cast<size_t>(product(shape) == 0 ? 0 : elements) * byte_width(type), 0x7f);
  memory_ = owned_.data();
  return self;
}
- (instancetype)initWithShape:(NSArray<NSNumber*>*)shape dataType:(MLMultiArrayDataType)type error:(NSError**)error {
  const Shape dims = shape_of(shape);
  return [self initOwned:dims dataType:type strides:row_major(dims)];
}
- (instancetype)initWithDataPointer:(void*)pointer
                              shape:(NSArray<NSNumber*>*)shape
                           dataType:(MLMultiArrayDataType)type
                            strides:(NSArray<NSNumber*>*)strides
                        deallocator:(void (^)(void*))deallocator
                              error:(NSError**)error {
  if (shape.count != strides.count) raise("MLMultiArray: shape and strides differ in rank");
  shape_ = shape_of(shape);
  strides_ = shape_of(strides);
  _dataType = type;
  memory_ = static_cast<uint8_t*>(pointer);
  deallocator_ = deallocator;
  return self;
}
- (void)dealloc {
  if (deallocator_) deallocator_(memory_);
}
- (NSArray<NSNumber*>*)shape {
  return numbers_of(shape_);
}
- (NSArray<NSNumber*>*)strides {
  return numbers_of(strides_);
}
- (NSInteger)count {
  return product(shape_);
}
- (NSInteger)extent {
  int64_t last = 1;
  for (size_t i = 0; i < shape_.size(); i++) last += (shape_[i] - 1) * strides_[i];
  return static_cast<NSInteger>(static_cast<size_t>(product(shape_) == 0 ? 0 : last) * byte_width(_dataType));
}
- (void)getBytesWithHandler:(void(NS_NOESCAPE ^)(const void*, NSInteger))handler {
  needs(12, 3, "-[MLMultiArray getBytesWithHandler:]");
  handler(memory_, [self extent]);
}
- (void)getMutableBytesWithHandler:(void(NS_NOESCAPE ^)(void*, NSInteger, NSArray<NSNumber*>*))handler {
  needs(12, 3, "-[MLMultiArray getMutableBytesWithHandler:]");
  handler(memory_, [self extent], self.strides);
}
@end

@implementation MLFeatureValue
@synthesize multiArrayValue = _multiArrayValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value {
  MLFeatureValue* made = [MLFeatureValue new];
  made->_multiArrayValue = value;
  return made;
}
- (MLFeatureType)type {
  return MLFeatureTypeMultiArray;
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
@end

@implementation MLDictionaryFeatureProvider {
  NSDictionary<NSString*, id>* _values;
}
- (instancetype)initWithDictionary:(NSDictionary<NSString*, id>*)dictionary error:(NSError**)error {
  for (NSString* name in dictionary)
    if (![dictionary[name] isKindOfClass:[MLFeatureValue class]]) {
      if (error) *error = error_of(MLModelErrorFeatureType, "the value of " + text_of(name) + " is no feature value");
      return nil;
    }
  _values = [dictionary copy];
  return self;
}
- (NSSet<NSString*>*)featureNames {
  return [NSSet setWithArray:_values.allKeys];
}
- (MLFeatureValue*)featureValueForName:(NSString*)name {
  return _values[name];
}
@end

@implementation MLArrayBatchProvider {
  NSArray<id<MLFeatureProvider>>* _items;
}
- (instancetype)initWithFeatureProviderArray:(NSArray<id<MLFeatureProvider>>*)array {
  _items = [array copy];
  return self;
}
- (NSInteger)count {
  return static_cast<NSInteger>(_items.count);
}
- (id<MLFeatureProvider>)featuresAtIndex:(NSInteger)index {
  return _items[static_cast<NSUInteger>(index)];
}
@end

@implementation MLPredictionOptions
@synthesize outputBackings = _outputBackings;
- (instancetype)init {
  _outputBackings = [NSDictionary new];
  return self;
}
@end
