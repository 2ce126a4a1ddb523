// The part of Core ML that the bridge uses, declared with the selectors, types and values of the
// published headers (native/src/coreml/selectors.json holds the same facts, and both are compared
// when this is compiled).
#pragma once

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

@class MLModelDescription, MLModelConfiguration, MLModelAsset, MLState, MLFeatureValue, MLFeatureDescription;

typedef NS_ENUM(NSInteger, MLComputeUnits) {
  MLComputeUnitsCPUOnly = 0,
  MLComputeUnitsCPUAndGPU = 1,
  MLComputeUnitsAll = 2,
  MLComputeUnitsCPUAndNeuralEngine API_AVAILABLE(macos(13.0)) = 3
};
typedef NS_ENUM(NSInteger, MLMultiArrayDataType) {
  MLMultiArrayDataTypeDouble = 0x10000 | 64,
  MLMultiArrayDataTypeFloat64 = 0x10000 | 64,
  MLMultiArrayDataTypeFloat32 = 0x10000 | 32,
  MLMultiArrayDataTypeFloat16 = 0x10000 | 16,
  MLMultiArrayDataTypeFloat = 0x10000 | 32,
  MLMultiArrayDataTypeInt32 = 0x20000 | 32
};
typedef NS_ENUM(NSInteger, MLFeatureType) {
  MLFeatureTypeInvalid = 0,
  MLFeatureTypeInt64 = 1,
  MLFeatureTypeDouble = 2,
  MLFeatureTypeString = 3,
  MLFeatureTypeImage = 4,
  MLFeatureTypeMultiArray = 5,
  MLFeatureTypeDictionary = 6,
  MLFeatureTypeSequence = 7,
  MLFeatureTypeState = 8
};
typedef NS_ENUM(NSInteger, MLMultiArrayShapeConstraintType) {
  MLMultiArrayShapeConstraintTypeUnspecified = 1,
  MLMultiArrayShapeConstraintTypeEnumerated = 2,
  MLMultiArrayShapeConstraintTypeRange = 3
};
typedef NS_ENUM(NSInteger, MLReshapeFrequencyHint) {
  MLReshapeFrequencyHintFrequent = 0,
  MLReshapeFrequencyHintInfrequent = 1
};
typedef NS_ENUM(NSInteger, MLSpecializationStrategy) {
  MLSpecializationStrategyDefault = 0,
  MLSpecializationStrategyFastPrediction = 1
};
typedef NS_ENUM(NSInteger, MLModelError) {
  MLModelErrorGeneric = 0,
  MLModelErrorFeatureType = 1,
  MLModelErrorIO = 3,
  MLModelErrorCustomLayer = 4,
  MLModelErrorCustomModel = 5,
  MLModelErrorUpdate = 6,
  MLModelErrorParameters = 7,
  MLModelErrorModelDecryptionKeyFetch = 8,
  MLModelErrorModelDecryption = 9,
  MLModelErrorModelCollection = 10,
  MLModelErrorPredictionCancelled = 11
};
FOUNDATION_EXPORT NSString* const MLModelErrorDomain;

API_AVAILABLE(macos(14.0))
@protocol MLComputeDeviceProtocol <NSObject>
@end
@protocol MTLDevice;
API_AVAILABLE(macos(14.0))
@interface MLCPUComputeDevice : NSObject <MLComputeDeviceProtocol>
@end
API_AVAILABLE(macos(14.0))
@interface MLGPUComputeDevice : NSObject <MLComputeDeviceProtocol>
@property(nonatomic, readonly, strong) id<MTLDevice> metalDevice;
@end
API_AVAILABLE(macos(14.0))
@interface MLNeuralEngineComputeDevice : NSObject <MLComputeDeviceProtocol>
@property(nonatomic, readonly, assign) NSInteger totalCoreCount;
@end
FOUNDATION_EXPORT NSArray<id<MLComputeDeviceProtocol>>* MLAllComputeDevices(void) API_AVAILABLE(macos(14.0));

// ------------------------------------------------------------------------------ values

@interface MLMultiArray : NSObject
@property(readonly, nonatomic) MLMultiArrayDataType dataType;
@property(readonly, nonatomic) NSArray<NSNumber*>* shape;
@property(readonly, nonatomic) NSArray<NSNumber*>* strides;
@property(readonly, nonatomic) NSInteger count;
- (nullable instancetype)initWithShape:(NSArray<NSNumber*>*)shape
                              dataType:(MLMultiArrayDataType)dataType
                                 error:(NSError**)error;
- (nullable instancetype)initWithDataPointer:(void*)dataPointer
                                       shape:(NSArray<NSNumber*>*)shape
                                    dataType:(MLMultiArrayDataType)dataType
                                     strides:(NSArray<NSNumber*>*)strides
                                 deallocator:(void (^_Nullable)(void* bytes))deallocator
                                       error:(NSError**)error;
- (void)getBytesWithHandler:(void(NS_NOESCAPE ^)(const void* bytes, NSInteger size))handler API_AVAILABLE(macos(12.3));
- (void)getMutableBytesWithHandler:(void(NS_NOESCAPE ^)(void* mutableBytes, NSInteger size,
                                                        NSArray<NSNumber*>* strides))handler API_AVAILABLE(macos(12.3));
@end

@interface MLFeatureValue : NSObject <NSCopying>
@property(readonly, nonatomic) MLFeatureType type;
@property(nullable, readonly, nonatomic) MLMultiArray* multiArrayValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value;
@end

@protocol MLFeatureProvider
@property(readonly, nonatomic) NSSet<NSString*>* featureNames;
- (nullable MLFeatureValue*)featureValueForName:(NSString*)featureName;
@end
@interface MLDictionaryFeatureProvider : NSObject <MLFeatureProvider>
- (nullable instancetype)initWithDictionary:(NSDictionary<NSString*, id>*)dictionary error:(NSError**)error;
@end

@protocol MLBatchProvider
@property(readonly, nonatomic) NSInteger count;
- (id<MLFeatureProvider>)featuresAtIndex:(NSInteger)index;
@end
@interface MLArrayBatchProvider : NSObject <MLBatchProvider>
- (instancetype)initWithFeatureProviderArray:(NSArray<id<MLFeatureProvider>>*)array;
@end

@interface MLPredictionOptions : NSObject
@property(readwrite, copy, nonatomic) NSDictionary<NSString*, id>* outputBackings;
@end

// ------------------------------------------------------------------------- descriptions

@interface MLMultiArrayShapeConstraint : NSObject
@property(readonly, nonatomic) MLMultiArrayShapeConstraintType type;
@property(readonly, nonatomic) NSArray<NSValue*>* sizeRangeForDimension;
@property(readonly, nonatomic) NSArray<NSArray<NSNumber*>*>* enumeratedShapes;
@end
@interface MLMultiArrayConstraint : NSObject
@property(readonly, nonatomic) NSArray<NSNumber*>* shape;
@property(readonly, nonatomic) MLMultiArrayDataType dataType;
@property(readonly, nonatomic) MLMultiArrayShapeConstraint* shapeConstraint;
@end
API_AVAILABLE(macos(15.0))
@interface MLStateConstraint : NSObject
@property(readonly, nonatomic) NSArray<NSNumber*>* bufferShape;
@property(readonly, nonatomic) MLMultiArrayDataType dataType;
@end
@interface MLFeatureDescription : NSObject
@property(readonly, nonatomic, copy) NSString* name;
@property(readonly, nonatomic) MLFeatureType type;
@property(readonly, nonatomic, getter=isOptional) BOOL optional;
- (BOOL)isAllowedValue:(MLFeatureValue*)value;
@property(readonly, nullable, nonatomic) MLMultiArrayConstraint* multiArrayConstraint;
@property(readonly, nullable, nonatomic) MLStateConstraint* stateConstraint API_AVAILABLE(macos(15.0));
@end
@interface MLModelDescription : NSObject
@property(readonly, nonatomic) NSDictionary<NSString*, MLFeatureDescription*>* inputDescriptionsByName;
@property(readonly, nonatomic) NSDictionary<NSString*, MLFeatureDescription*>* outputDescriptionsByName;
@property(readonly, nonatomic)
    NSDictionary<NSString*, MLFeatureDescription*>* stateDescriptionsByName API_AVAILABLE(macos(15.0));
@end

// --------------------------------------------------------------------------- the model

API_AVAILABLE(macos(14.4))
@interface MLOptimizationHints : NSObject <NSCopying>
@property(readwrite, nonatomic) MLReshapeFrequencyHint reshapeFrequency;
@property(readwrite, nonatomic) MLSpecializationStrategy specializationStrategy API_AVAILABLE(macos(15.0));
@end
@interface MLModelConfiguration : NSObject <NSCopying>
@property(readwrite, nonatomic) MLComputeUnits computeUnits;
@property(readwrite, nonatomic, copy) NSString* modelDisplayName API_AVAILABLE(macos(13.0));
@property(readwrite, nonatomic) BOOL allowLowPrecisionAccumulationOnGPU;
@property(readwrite, nonatomic, copy) MLOptimizationHints* optimizationHints API_AVAILABLE(macos(14.4));
@property(readwrite, nonatomic, nullable, copy) NSString* functionName API_AVAILABLE(macos(15.0));
@end

API_AVAILABLE(macos(13.0))
@interface MLModelAsset : NSObject
+ (nullable instancetype)modelAssetWithSpecificationData:(NSData*)specificationData
                                                   error:(NSError**)error API_AVAILABLE(macos(13.0));
+ (nullable instancetype)modelAssetWithSpecificationData:(NSData*)specificationData
                                             blobMapping:(NSDictionary<NSURL*, NSData*>*)blobMapping
                                                   error:(NSError**)error API_AVAILABLE(macos(15.0));
+ (nullable instancetype)modelAssetWithURL:(NSURL*)compiledModelURL error:(NSError**)error API_AVAILABLE(macos(15.0));
- (void)functionNamesWithCompletionHandler:(void (^)(NSArray<NSString*>* _Nullable functionNames,
                                                     NSError* _Nullable error))handler API_AVAILABLE(macos(15.0));
@end

API_AVAILABLE(macos(15.0))
@interface MLState : NSObject
- (instancetype)init NS_UNAVAILABLE;
- (void)getMultiArrayForStateNamed:(NSString*)stateName handler:(void(NS_NOESCAPE ^)(MLMultiArray* buffer))handler;
@end

@interface MLModel : NSObject
@property(readonly, nonatomic) MLModelDescription* modelDescription;
+ (void)compileModelAtURL:(NSURL*)modelURL
        completionHandler:(void (^)(NSURL* _Nullable compiledModelURL, NSError* _Nullable error))handler
    API_AVAILABLE(macos(13.0));
+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLModel* _Nullable model, NSError* _Nullable error))handler
    API_AVAILABLE(macos(11.0));
+ (void)loadModelAsset:(MLModelAsset*)asset
         configuration:(MLModelConfiguration*)configuration
     completionHandler:(void (^)(MLModel* _Nullable model, NSError* _Nullable error))handler API_AVAILABLE(macos(13.0));
- (nullable id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                                 options:(MLPredictionOptions*)options
                                                   error:(NSError**)error;
- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider> _Nullable output,
                                         NSError* _Nullable error))completionHandler API_AVAILABLE(macos(14.0));
- (nullable id<MLBatchProvider>)predictionsFromBatch:(id<MLBatchProvider>)inputBatch
                                             options:(MLPredictionOptions*)options
                                               error:(NSError**)error;
- (MLState*)newState API_AVAILABLE(macos(15.0));
- (nullable id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)inputFeatures
                                              usingState:(MLState*)state
                                                 options:(MLPredictionOptions*)options
                                                   error:(NSError**)error API_AVAILABLE(macos(15.0));
- (void)predictionFromFeatures:(id<MLFeatureProvider>)inputFeatures
                    usingState:(MLState*)state
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider> _Nullable output,
                                         NSError* _Nullable error))completionHandler API_AVAILABLE(macos(15.0));
@end

// ------------------------------------------------------------------- structure and plan

API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgramValueType : NSObject
@end
API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgramNamedValueType : NSObject
@property(readonly, copy, nonatomic) NSString* name;
@property(readonly, strong, nonatomic) MLModelStructureProgramValueType* type;
@end
@class MLModelStructureProgramBlock;
API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgramOperation : NSObject
@property(readonly, copy, nonatomic) NSString* operatorName;
@property(readonly, copy, nonatomic) NSArray<MLModelStructureProgramNamedValueType*>* outputs;
@property(readonly, copy, nonatomic) NSArray<MLModelStructureProgramBlock*>* blocks;
@end
API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgramBlock : NSObject
@property(readonly, copy, nonatomic) NSArray<NSString*>* outputNames;
@property(readonly, copy, nonatomic) NSArray<MLModelStructureProgramOperation*>* operations;
@end
API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgramFunction : NSObject
@property(readonly, strong, nonatomic) MLModelStructureProgramBlock* block;
@end
API_AVAILABLE(macos(14.4))
@interface MLModelStructureProgram : NSObject
@property(readonly, copy, nonatomic) NSDictionary<NSString*, MLModelStructureProgramFunction*>* functions;
@end
API_AVAILABLE(macos(14.4))
@interface MLModelStructure : NSObject
@property(readonly, strong, nonatomic, nullable) MLModelStructureProgram* program;
+ (void)loadContentsOfURL:(NSURL*)url
        completionHandler:(void (^)(MLModelStructure* _Nullable modelStructure, NSError* _Nullable error))handler;
@end

API_AVAILABLE(macos(14.4))
@interface MLComputePlanDeviceUsage : NSObject
@property(readonly, copy, nonatomic) NSArray<id<MLComputeDeviceProtocol>>* supportedComputeDevices;
@property(readonly, strong, nonatomic) id<MLComputeDeviceProtocol> preferredComputeDevice;
@end
API_AVAILABLE(macos(14.4))
@interface MLComputePlanCost : NSObject
@property(readonly, assign, nonatomic) double weight;
@end
API_AVAILABLE(macos(14.4))
@interface MLComputePlan : NSObject
@property(readonly, strong, nonatomic) MLModelStructure* modelStructure;
+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLComputePlan* _Nullable computePlan, NSError* _Nullable error))handler;
- (nullable MLComputePlanCost*)estimatedCostOfMLProgramOperation:(MLModelStructureProgramOperation*)operation;
- (nullable MLComputePlanDeviceUsage*)computeDeviceUsageForMLProgramOperation:
    (MLModelStructureProgramOperation*)operation;
@end

NS_ASSUME_NONNULL_END
