// Compiled models and assets as folders with a copy of the package, and the configuration they are
// loaded with.
#import "model.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace files = std::filesystem;
using namespace coreml_double;

namespace coreml_double {

std::string temporary_folder() {
  std::string path = (files::temp_directory_path() / "coreml-double-XXXXXX").string();
  if (!mkdtemp(path.data())) throw SpecError("no temporary folder");
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SpecError("there is no " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Loaded::~Loaded() {
  std::error_code ignored;
  if (!temporary.empty()) files::remove_all(temporary, ignored);
}

std::shared_ptr<Loaded> load_folder(const std::string& folder) {
  auto made = std::make_shared<Loaded>();
  made->folder = folder;
  if (!files::exists(folder + "/coremldata.bin"))
    throw SpecError("A valid manifest does not exist at path: " + folder + "/coremldata.bin");
  made->spec = read_spec(bytes_of(folder + "/" + kModel));
  return made;
}

}  // namespace coreml_double

@implementation MLOptimizationHints
@synthesize reshapeFrequency = _reshapeFrequency, specializationStrategy = _specializationStrategy;
- (instancetype)init {
  needs(14, 4, "MLOptimizationHints");
  return self;
}
- (void)setSpecializationStrategy:(MLSpecializationStrategy)strategy {
  needs(15, 0, "-[MLOptimizationHints setSpecializationStrategy:]");
  _specializationStrategy = strategy;
}
- (id)copyWithZone:(NSZone*)zone {
  MLOptimizationHints* made = [MLOptimizationHints new];
  made->_reshapeFrequency = _reshapeFrequency;
  made->_specializationStrategy = _specializationStrategy;
  return made;
}
@end

@implementation MLModelConfiguration {
  MLOptimizationHints* _hints;
  NSString *_function, *_title;
}
@synthesize computeUnits = _computeUnits, allowLowPrecisionAccumulationOnGPU = _allowLowPrecisionAccumulationOnGPU;
- (instancetype)init {
  _computeUnits = MLComputeUnitsAll;
  return self;
}
- (void)setModelDisplayName:(NSString*)name {
  needs(13, 0, "-[MLModelConfiguration setModelDisplayName:]");
  _title = [name copy];
}
- (NSString*)modelDisplayName {
  return _title;
}
- (void)setOptimizationHints:(MLOptimizationHints*)hints {
  needs(14, 4, "-[MLModelConfiguration setOptimizationHints:]");
  _hints = [hints copy];
}
- (MLOptimizationHints*)optimizationHints {
  return _hints;
}
- (void)setFunctionName:(NSString*)name {
  needs(15, 0, "-[MLModelConfiguration setFunctionName:]");
  _function = [name copy];
}
- (NSString*)functionName {
  return _function;
}
- (id)copyWithZone:(NSZone*)zone {
  MLModelConfiguration* made = [MLModelConfiguration new];
  made->_computeUnits = _computeUnits;
  made->_hints = _hints;
  made->_function = _function;
  made->_title = _title;
  made->_allowLowPrecisionAccumulationOnGPU = _allowLowPrecisionAccumulationOnGPU;
  return made;
}
@end

// Written to a folder of its own, so that the evaluator can open it like any other.
static MLModelAsset* asset_of(NSData* data, NSDictionary<NSURL*, NSData*>* blobs, NSError** error) {
  MLModelAsset* made = [MLModelAsset new];
  try {
    auto loaded = std::make_shared<Loaded>();
    const std::string bytes(static_cast<const char*>(data.bytes), data.length);
    loaded->spec = read_spec(bytes);
    loaded->temporary = temporary_folder();
    loaded->folder = loaded->temporary;
    files::create_directories(loaded->folder + "/Data/com.apple.CoreML/weights");
    std::ofstream(loaded->folder + "/" + kModel, std::ios::binary) << bytes;
    std::ofstream(loaded->folder + "/Manifest.json")
        << R"({"itemInfoEntries":{"m":{"path":"com.apple.CoreML/model.mlmodel"}},"rootModelIdentifier":"m"})";
    for (NSURL* url in blobs) {
      NSData* blob = blobs[url];
      const std::string name = files::path(text_of(url.path)).filename().string();
      std::ofstream(loaded->folder + "/Data/com.apple.CoreML/weights/" + name, std::ios::binary)
          .write(static_cast<const char*>(blob.bytes), static_cast<std::streamsize>(blob.length));
    }
    made->loaded_ = std::move(loaded);
  } catch (const SpecError& problem) {
    if (error) *error = error_of(MLModelErrorIO, problem.what());
    return nil;
  }
  return made;
}

@implementation MLModelAsset
+ (instancetype)modelAssetWithURL:(NSURL*)url error:(NSError**)error {
  needs(15, 0, "+[MLModelAsset modelAssetWithURL:error:]");
  MLModelAsset* made = [MLModelAsset new];
  try {
    made->loaded_ = load_folder(text_of(url.path));
  } catch (const SpecError& problem) {
    if (error) *error = error_of(MLModelErrorIO, problem.what());
    return nil;
  }
  return made;
}
+ (instancetype)modelAssetWithSpecificationData:(NSData*)data error:(NSError**)error {
  needs(13, 0, "+[MLModelAsset modelAssetWithSpecificationData:error:]");
  return asset_of(data, [NSMutableDictionary new], error);
}
+ (instancetype)modelAssetWithSpecificationData:(NSData*)data
                                    blobMapping:(NSDictionary<NSURL*, NSData*>*)blobs
                                          error:(NSError**)error {
  needs(15, 0, "+[MLModelAsset modelAssetWithSpecificationData:blobMapping:error:]");
  return asset_of(data, blobs, error);
}
- (void)functionNamesWithCompletionHandler:(void (^)(NSArray<NSString*>*, NSError*))handler {
  needs(15, 0, "-[MLModelAsset functionNamesWithCompletionHandler:]");
  void (^kept)(NSArray<NSString*>*, NSError*) = handler;
  auto loaded = loaded_;
  on_other_thread([kept, loaded] {
    NSMutableArray<NSString*>* names = [NSMutableArray new];
    if (loaded->spec.multifunction)
      for (const Interface& one : loaded->spec.interfaces) [names addObject:string_of(one.name)];
    kept(names, nil);
  });
}
@end
