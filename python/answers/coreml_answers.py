"""coremltools: does a package hold together, and what does a MIL operation compute."""

import logging
import warnings

logging.disable(logging.ERROR)
warnings.filterwarnings("ignore")

import coremltools as ct
import numpy as np
from coremltools.converters.mil.mil import Builder as mb
from coremltools.converters.mil.mil import types

import validate_mlpackage


def validate(path, frontend=True, fake_weights=False):
    """Every finding of validate_mlpackage.py on a package: {errors, warnings, rows: [severity, layer, where, text]}."""
    report, _, _ = validate_mlpackage.validate(path, frontend, fake_weights)
    return {"errors": report.count("E"), "warnings": report.count("W"), "rows": [list(row) for row in report.rows]}


def mil_eval(op, inputs, element_types):
    """One MIL operation on constant inputs, by coremltools' own value inference.

    `element_types` names those that NumPy has not, by input: "int4", "uint4". Gives one {value, dtype, shape} per output; value is
    null where coremltools has no evaluation for this op."""
    results = []
    given = {name: _argument(value) for name, value in inputs.items()}
    for name, element in element_types.items():
        given[name] = given[name].astype(types.nptype_from_builtin(types.string_to_builtin(element)))

    @mb.program(input_specs=[], opset_version=ct.target.iOS18)
    def program():
        out = getattr(mb, op)(**given)
        outputs = list(out) if isinstance(out, (list, tuple)) else [out]
        values = [item.val for item in outputs]
        if all(value is None for value in values) and hasattr(outputs[0].op, "materialized_val_inference"):
            made = outputs[0].op.materialized_val_inference()
            values = list(made) if isinstance(made, (list, tuple)) else [made]
        for item, value in zip(outputs, values):
            results.append({"value": _plain(value), "dtype": types.builtin_to_string(item.dtype), "shape": list(item.shape)})
        return mb.const(val=np.float32(0))

    return results


def mil_cond(flag, operand, branches):
    """`cond` with a constant predicate, by coremltools' own value inference: each branch is one operation on the operand.

    `branches` are two [operation, {other argument: value}]. Gives {value, dtype, shape} as `mil_eval` does."""
    results = []

    @mb.program(input_specs=[], opset_version=ct.target.iOS18)
    def program():
        x = mb.const(val=operand)

        def branch(at):
            op, more = branches[at]
            return lambda: getattr(mb, op)(x=x, **{name: _argument(value) for name, value in more.items()})

        out = mb.cond(pred=bool(flag), _true_fn=branch(0), _false_fn=branch(1))
        results.append({"value": _plain(out.val), "dtype": types.builtin_to_string(out.dtype), "shape": list(out.shape)})
        return mb.const(val=np.float32(0))

    return results


def package_text(path, opset=None):
    """The programs of a package as coremltools reads them back, printed."""
    _, _, program = validate_mlpackage.validate(path)
    return None if program is None else str(program)


def input_shapes(path):
    """The inputs of each function as coremltools reads the specification: {function: {input: {shape, range, enumerated}}}."""
    description = ct.utils.load_spec(path).description
    functions = {f.name: f.input for f in description.functions} or {"main": description.input}

    def shapes(array):
        kind = array.WhichOneof("ShapeFlexibility")
        return {
            "shape": list(array.shape),
            "range": [[r.lowerBound, r.upperBound] for r in array.shapeRange.sizeRanges] if kind == "shapeRange" else None,
            "enumerated": [list(s.shape) for s in array.enumeratedShapes.shapes] if kind == "enumeratedShapes" else None,
        }

    return {name: {i.name: shapes(i.type.multiArrayType) for i in inputs} for name, inputs in functions.items()}


def schema_numbers():
    """Field and enum numbers of Apple's messages, as {"Message.field": number} (nested names joined by dots)."""
    from coremltools import proto

    out = {}

    def walk(message, prefix):
        name = prefix + message.name
        out.update({f"{name}.{field.name}": field.number for field in message.fields})
        for enum in message.enum_types:
            out.update({f"{name}.{enum.name}.{value.name}": value.number for value in enum.values})
        for inner in message.nested_types:
            walk(inner, name + ".")

    for file in (proto.Model_pb2, proto.FeatureTypes_pb2, proto.MIL_pb2):
        for message in file.DESCRIPTOR.message_types_by_name.values():
            walk(message, "")
        for enum in file.DESCRIPTOR.enum_types_by_name.values():
            out.update({f"{enum.name}.{value.name}": value.number for value in enum.values})
    return out


def _argument(value):
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _plain(value):
    if value is None or isinstance(value, str):
        return value
    array = np.asarray(value)
    return None if array.dtype == object or array.dtype.kind in "US" else array
