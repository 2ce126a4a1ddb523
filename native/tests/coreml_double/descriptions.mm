// What a model says of its features: shapes, enumerated shapes, ranges, states.
#import "model.h"

#include <algorithm>

using namespace coreml_double;

namespace coreml_double {

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int64_t dim : shape) text += (text.empty() ? "" : " × ") + std::to_string(dim);
  return "(" + text + ")";
}

bool allows(const Feature& feature, const Shape& shape) {
  if (!feature.shapes.empty())
    return std::find(feature.shapes.begin(), feature.shapes.end(), shape) != feature.shapes.end();
  if (!feature.ranges.empty()) {
    for (size_t i = 0; i < shape.size() && i < feature.ranges.size(); i++)
      if (shape[i] < feature.ranges[i].first || (feature.ranges[i].second >= 0 && shape[i] > feature.ranges[i].second))
        return false;
    return shape.size() == feature.ranges.size();
  }
  return feature.shape.empty() || feature.shape == shape;
}

}  // namespace coreml_double

@implementation MLMultiArrayShapeConstraint {
 @public
  Feature feature_;
}
- (MLMultiArrayShapeConstraintType)type {
  if (!feature_.shapes.empty()) return MLMultiArrayShapeConstraintTypeEnumerated;
  return feature_.ranges.empty() ? MLMultiArrayShapeConstraintTypeUnspecified : MLMultiArrayShapeConstraintTypeRange;
}
- (NSArray<NSValue*>*)sizeRangeForDimension {
  NSMutableArray<NSValue*>* made = [NSMutableArray new];
  for (const auto& [lower, upper] : feature_.ranges) {
    const auto least = static_cast<NSUInteger>(lower);
    [made addObject:[NSValue valueWithRange:{least, upper < 0 ? static_cast<NSUInteger>(0x7fffffffffffffff)
                                                              : static_cast<NSUInteger>(upper) - least + 1}]];
  }
  return made;
}
- (NSArray<NSArray<NSNumber*>*>*)enumeratedShapes {
  NSMutableArray<NSArray<NSNumber*>*>* made = [NSMutableArray new];
  for (const Shape& shape : feature_.shapes) [made addObject:numbers_of(shape)];
  return made;
}
@end

@implementation MLMultiArrayConstraint {
 @public
  Feature feature_;
}
- (NSArray<NSNumber*>*)shape {
  return numbers_of(feature_.shape);
}
- (MLMultiArrayDataType)dataType {
  return data_type(feature_.type);
}
- (MLMultiArrayShapeConstraint*)shapeConstraint {
  MLMultiArrayShapeConstraint* made = [MLMultiArrayShapeConstraint new];
  made->feature_ = feature_;
  return made;
}
@end

@implementation MLStateConstraint {
 @public
  Feature feature_;
}
- (NSArray<NSNumber*>*)bufferShape {
  return numbers_of(feature_.shape);
}
- (MLMultiArrayDataType)dataType {
  return data_type(feature_.type);
}
@end

@implementation MLFeatureDescription {
 @public
  Feature feature_;
  bool state_;
}
- (NSString*)name {
  return string_of(feature_.name);
}
- (MLFeatureType)type {
  return state_ ? MLFeatureTypeState : feature_.type == "none" ? MLFeatureTypeString : MLFeatureTypeMultiArray;
}
- (BOOL)isOptional {
  return feature_.optional;
}
- (BOOL)isAllowedValue:(MLFeatureValue*)value {
  MLMultiArray* array = value.multiArrayValue;
  return array != nil && type_name(array.dataType) == feature_.type && allows(feature_, array->shape_);
}
- (MLMultiArrayConstraint*)multiArrayConstraint {
  if (state_ || feature_.type == "none") return nil;
  MLMultiArrayConstraint* made = [MLMultiArrayConstraint new];
  made->feature_ = feature_;
  return made;
}
- (MLStateConstraint*)stateConstraint {
  needs(15, 0, "-[MLFeatureDescription stateConstraint]");
  if (!state_) return nil;
  MLStateConstraint* made = [MLStateConstraint new];
  made->feature_ = feature_;
  return made;
}
@end

@implementation MLModelDescription
static NSDictionary<NSString*, MLFeatureDescription*>* described(const std::vector<Feature>& features, bool state) {
  NSMutableDictionary<NSString*, MLFeatureDescription*>* made = [NSMutableDictionary new];
  for (const Feature& feature : features) {
    MLFeatureDescription* one = [MLFeatureDescription new];
    one->feature_ = feature;
    one->state_ = state;
    made[string_of(feature.name)] = one;
  }
  return made;
}
- (NSDictionary<NSString*, MLFeatureDescription*>*)inputDescriptionsByName {
  return described(interface_.inputs, false);
}
- (NSDictionary<NSString*, MLFeatureDescription*>*)outputDescriptionsByName {
  return described(interface_.outputs, false);
}
- (NSDictionary<NSString*, MLFeatureDescription*>*)stateDescriptionsByName {
  needs(15, 0, "-[MLModelDescription stateDescriptionsByName]");
  return described(interface_.states, true);
}
@end
