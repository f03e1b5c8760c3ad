"""Handlers of XLA's foreign function interface, called with PyTorch's tensors and without XLA.

A handler is a C function of one call frame, which holds the arguments, results and attributes, and a table of the
functions by which the handler asks for the stream and for scratch memory. The layouts below are those of the
interface's public header, xla/ffi/api/c_api.h of OpenXLA, as jaxlib 0.11.2 ships it: version 0.4.
"""

import ctypes
from ctypes import POINTER, Structure, addressof, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

EXECUTE = 3
BUFFER = 1
SCALAR = 3
INTERNAL_ERROR = 13
VERSION_BYTES = 24
TENSOR_TYPES = {"float16": 10, "float32": 11, "bfloat16": 16}
# Type and number of an attribute, by the type of its value in Python.
SCALAR_TYPES = {bool: (c_bool, 1), int: (c_int64, 5), float: (c_double, 12)}
# The table's functions, in its order. Each takes the address of its own arguments and gives an error or null.
FUNCTIONS = (
    "error_create",
    "error_details",
    "error_destroy",
    "handler_register",
    "stream",
    "type_register",
    "context_get",
    "state_set",
    "state_get",
    "allocate",
    "free",
    "pool_schedule",
    "pool_threads",
    "future_create",
    "future_available",
    "future_error",
    "run_id",
    "device",
    "find_extension",
)
# All of these structures begin with their size and a chain of extensions.
HEAD = [("size", c_size_t), ("extensions", c_void_p)]
FUNCTION = ctypes.CFUNCTYPE(c_void_p, c_void_p)


class Buffer(Structure):
    """A tensor."""

    _fields_ = [*HEAD, ("type", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class Scalar(Structure):
    """The value of an attribute."""

    _fields_ = [("type", c_int), ("value", c_void_p)]


class Name(Structure):
    """Text with its length."""

    _fields_ = [("text", c_char_p), ("length", c_size_t)]


class Tensors(Structure):
    """The arguments, or the results."""

    _fields_ = [*HEAD, ("count", c_int64), ("kinds", POINTER(c_int)), ("values", POINTER(c_void_p))]


class Attributes(Structure):
    """The attributes, sorted by name."""

    _fields_ = [
        *HEAD,
        ("count", c_int64),
        ("kinds", POINTER(c_int)),
        ("names", POINTER(c_void_p)),
        ("values", POINTER(c_void_p)),
    ]


class Table(Structure):
    """The functions that a handler may call. The interface's own version is a structure of four fields."""

    _fields_ = [
        *HEAD,
        ("version_size", c_size_t),
        ("version_extensions", c_void_p),
        ("major", c_int),
        ("minor", c_int),
        ("internal", c_void_p),
        *((name, FUNCTION) for name in FUNCTIONS),
    ]


class CallFrame(Structure):
    """One call. A last field, for handlers that finish later, is not counted in the size."""

    _fields_ = [
        *HEAD,
        ("table", POINTER(Table)),
        ("context", c_void_p),
        ("stage", c_int),
        ("arguments", Tensors),
        ("results", Tensors),
        ("attributes", Attributes),
        ("future", c_void_p),
    ]


class ErrorCreate(Structure):
    """What a handler gives to report an error."""

    _fields_ = [*HEAD, ("message", c_char_p), ("code", c_int)]


class ErrorDetails(Structure):
    """What a handler asks of an error."""

    _fields_ = [*HEAD, ("error", c_void_p), ("message", c_char_p), ("code", c_int)]


class Answer(Structure):
    """What a handler asks of its context: the stream, or the number of the device."""

    _fields_ = [*HEAD, ("context", c_void_p), ("value", c_void_p)]


class Device(Structure):
    """As `Answer`, of 32 bits."""

    _fields_ = [*HEAD, ("context", c_void_p), ("value", c_int)]


class Allocate(Structure):
    """A request for scratch memory."""

    _fields_ = [*HEAD, ("context", c_void_p), ("bytes", c_size_t), ("alignment", c_size_t), ("data", c_void_p)]


class Free(Structure):
    """The return of scratch memory."""

    _fields_ = [*HEAD, ("context", c_void_p), ("bytes", c_size_t), ("data", c_void_p)]


class Runtime:
    """What stands in for XLA: the table of functions, the errors in hand and the scratch memory in use."""

    def __init__(self, torch):
        self.torch, self.errors, self.scratch, self.issued = torch, {}, {}, 0
        self.functions = [FUNCTION(self.guarded(name)) for name in FUNCTIONS]
        self.table = Table(ctypes.sizeof(Table), None, VERSION_BYTES, None, 0, 4, None, *self.functions)

    def guarded(self, name):
        """A function of the table. An exception can't cross C, so it becomes an error of the interface."""

        def call(arguments):
            try:
                return getattr(self, name)(arguments)
            except Exception as error:
                return self.new_error(f"{name}: {error!r}")

        return call

    def __getattr__(self, name):
        if name not in FUNCTIONS:
            raise AttributeError(name)
        raise NotImplementedError("there is no XLA here to answer this")

    def new_error(self, message):
        """An error's handle: any number but 0."""
        self.issued += 1
        self.errors[self.issued] = message.encode()
        return self.issued

    def error_create(self, at):
        """The handle of a new error."""
        return self.new_error(ErrorCreate.from_address(at).message.decode(errors="replace"))

    def error_details(self, at):
        """Tells an error's message, which lives until the error is destroyed."""
        asked = ErrorDetails.from_address(at)
        asked.message = self.errors[asked.error]
        # An older interface asks for the message alone.
        if asked.size >= ErrorDetails.code.offset + ErrorDetails.code.size:
            asked.code = INTERNAL_ERROR

    def error_destroy(self, at):
        """Forgets an error."""
        self.errors.pop(ErrorDetails.from_address(at).error, None)

    def stream(self, at):
        """Tells PyTorch's stream, so that a CUDA graph can hold the call."""
        Answer.from_address(at).value = self.torch.cuda.current_stream().cuda_stream

    def device(self, at):
        """Tells PyTorch's device."""
        Device.from_address(at).value = self.torch.cuda.current_device()

    def allocate(self, at):
        """Gives scratch memory from PyTorch's pool, which aligns to far more than a handler asks for."""
        asked = Allocate.from_address(at)
        memory = self.torch.empty(asked.bytes, dtype=self.torch.uint8, device="cuda")
        self.scratch[memory.data_ptr()] = memory
        asked.data = memory.data_ptr()

    def free(self, at):
        """Takes scratch memory back. The pool hands it on in the order of the stream, behind its kernels."""
        self.scratch.pop(Free.from_address(at).data, None)

    def call(self, handler, arguments, results, attributes):
        """Calls a handler: it queues kernels that read `arguments` and write `results`, all contiguous tensors."""
        names = sorted(attributes)
        texts = [name.encode() for name in names]
        labels = [Name(text, len(text)) for text in texts]
        kinds = [SCALAR_TYPES[type(attributes[name])] for name in names]
        values = [kind(attributes[name]) for (kind, _), name in zip(kinds, names)]
        scalars = [Scalar(number, addressof(value)) for (_, number), value in zip(kinds, values)]
        buffers = [[buffer_of(tensor) for tensor in tensors] for tensors in (arguments, results)]
        tensors = [
            Tensors(ctypes.sizeof(Tensors), None, len(part), all_of(BUFFER, part), addresses(part)) for part in buffers
        ]
        attributes = Attributes(
            ctypes.sizeof(Attributes), None, len(names), all_of(SCALAR, names), addresses(labels), addresses(scalars)
        )
        # The size leaves out the last field.
        size, table = CallFrame.future.offset, ctypes.pointer(self.table)
        frame = CallFrame(size, None, table, None, EXECUTE, *tensors, attributes)
        error = handler(ctypes.byref(frame))
        if error:
            raise RuntimeError(self.errors.pop(error).decode(errors="replace"))


def buffer_of(tensor):
    """A tensor as the interface sees it."""
    if not tensor.is_contiguous():
        raise ValueError(f"the interface takes contiguous tensors, not strides {tensor.stride()}")
    kind = TENSOR_TYPES[str(tensor.dtype).removeprefix("torch.")]
    dims = (c_int64 * tensor.dim())(*tensor.shape)
    return Buffer(ctypes.sizeof(Buffer), None, kind, tensor.data_ptr(), tensor.dim(), dims)


def all_of(kind, parts):
    """An array that says `kind` for each part."""
    return (c_int * len(parts))(*(kind for _ in parts))


def addresses(parts):
    """An array of the parts' addresses."""
    return (c_void_p * len(parts))(*(addressof(part) for part in parts))


def handler(library, name):
    """A handler of a loaded library."""
    function = getattr(library, name)
    function.restype, function.argtypes = c_void_p, [c_void_p]
    return function
