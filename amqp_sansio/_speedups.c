/* amqp_sansio._speedups: octets in, plain Python values out, where the pure text does the same in more steps.

   Nothing here knows a rule, a state or a class of the package. The pure text of each function is the reference, and
   stands beside its caller; tests/core/test_compiled.py compares the two. Each function reads octets that never change
   and none outside of them, and keeps nothing between calls; a maker, which the caller keeps, never changes. What a
   function looks up, appends to or sets it reaches in single steps of the interpreter. So it needs no lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef Py_T_OBJECT_EX
/* Names of Python 3.12. */
#include <structmember.h>
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

/* Stores a new reference, or goes to `fail` with the exception that making it has raised. */
#define PUT(tuple, index, value)                     \
    do {                                             \
        PyObject *item_ = (value);                   \
        if (item_ == NULL) {                         \
            goto fail;                               \
        }                                            \
        PyTuple_SET_ITEM((tuple), (index), item_);   \
    } while (0)

static inline uint32_t
read_u16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | (uint32_t)at[1];
}

static inline uint32_t
read_u32(const unsigned char *at)
{
    return read_u16(at) << 16 | read_u16(at + 2);
}

static inline uint64_t
read_u64(const unsigned char *at)
{
    return (uint64_t)read_u32(at) << 32 | (uint64_t)read_u32(at + 4);
}

/* The value of a key, as a new reference; NULL where there is none, or with an exception. A borrowed reference would not
   do without a global lock: another thread could change the dict before it is counted. */
static PyObject *
look_up(PyObject *dict, PyObject *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;
    (void)PyDict_GetItemRef(dict, key, &value);
    return value;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* Whether a function has as many arguments as it takes; else with a TypeError. */
static int
takes(const char *name, Py_ssize_t count, Py_ssize_t nargs)
{
    if (nargs == count) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, count, nargs);
    return 0;
}

/* Takes so many arguments as numbers; 0 with an exception. */
static int
take_numbers(PyObject *const *args, Py_ssize_t *numbers, int count)
{
    for (int index = 0; index < count; index++) {
        numbers[index] = PyLong_AsSsize_t(args[index]);
        if (numbers[index] == -1 && PyErr_Occurred()) {
            return 0;
        }
    }
    return 1;
}

/* Whether what a function is to read is bytes; else with a TypeError. */
static int
reads(const char *name, PyObject *octets)
{
    if (PyBytes_Check(octets)) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s reads bytes, not %.100s", name, Py_TYPE(octets)->tp_name);
    return 0;
}

/* The integer as 64 bits, the nearest of them where it has more. Returns -1 with an exception for what is none. */
static int
bound_of(PyObject *value, int64_t *bound)
{
    int overflow = 0;
    long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (found == -1 && overflow == 0 && PyErr_Occurred()) {
        return -1;
    }
    *bound = overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : (int64_t)found;
    return 0;
}

/* The place that a function is to read from. Returns -1 with an exception where it is none. */
static int
place_of(const char *name, PyObject *value, Py_ssize_t *place)
{
    *place = PyLong_AsSsize_t(value);
    if (*place == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (*place < 0) {
        PyErr_Format(PyExc_ValueError, "%s reads from 0 on, not from %zd", name, *place);
        return -1;
    }
    return 0;
}

/* The text of `count` octets of UTF-8, as a new reference; `known`, if it isn't NULL, where it is the same text.
   Returns 1; 0 without an exception where the octets are no UTF-8; -1 with an exception. */
static int
text_of(const unsigned char *octets, Py_ssize_t count, PyObject *known, PyObject **text)
{
    if (known != NULL) {
        Py_ssize_t size = 0;
        const char *same = PyUnicode_AsUTF8AndSize(known, &size);
        if (same == NULL) {
            return -1;
        }
        if (size == count && memcmp(same, octets, (size_t)count) == 0) {
            *text = Py_NewRef(known);
            return 1;
        }
    }
    *text = PyUnicode_DecodeUTF8((const char *)octets, count, NULL);
    if (*text != NULL) {
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* Records: instances of a class of the caller's, whose fields are slots */

enum {
    /* The most slots that a maker sets. */
    MOST_SLOTS = 32,
};

/* What maker() gives: where the fields of a record stand. It keeps the class alive, and so all that owns its slots. */
struct maker {
    PyObject_HEAD
    vectorcallfunc call;
    PyTypeObject *type;
    /* How many values it takes; behind them stand those that all of its records share. */
    Py_ssize_t count;
    PyObject *rest;
    PyMemberDef *slots[MOST_SLOTS];
};

/* What belongs to a module, of which each interpreter has its own. */
struct state {
    PyTypeObject *maker;
};

/* A new record whose slots have these values; all others have none. */
static PyObject *
make(const struct maker *it, PyObject *const *values)
{
    PyObject *record = it->type->tp_alloc(it->type, 0);
    if (record == NULL) {
        return NULL;
    }
    /* Nobody else has the record yet. */
    for (Py_ssize_t index = 0; index < it->count; index++) {
        *(PyObject **)((char *)record + it->slots[index]->offset) = Py_NewRef(values[index]);
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(it->rest); index++) {
        PyMemberDef *slot = it->slots[it->count + index];
        *(PyObject **)((char *)record + slot->offset) = Py_NewRef(PyTuple_GET_ITEM(it->rest, index));
    }
    return record;
}

static PyObject *
call_maker(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const struct maker *it = (const struct maker *)self;
    if (names != NULL && PyTuple_GET_SIZE(names) != 0) {
        PyErr_Format(PyExc_TypeError, "a maker of %.100s takes its fields by their order", it->type->tp_name);
        return NULL;
    }
    return takes("a maker", it->count, PyVectorcall_NARGS(nargsf)) ? make(it, args) : NULL;
}

static int
traverse_maker(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct maker *)self)->type);
    Py_VISIT(((struct maker *)self)->rest);
    return 0;
}

static void
free_maker(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    /* Its class never refers to it in a cycle that needs tp_clear: a maker never changes. */
    Py_DECREF(((struct maker *)self)->type);
    Py_DECREF(((struct maker *)self)->rest);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef maker_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct maker, call), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot maker_slots[] = {
    {Py_tp_members, maker_members},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_traverse, (void *)traverse_maker},
    {Py_tp_dealloc, (void *)free_maker},
    {0, NULL},
};

static PyType_Spec maker_spec = {
    .name = "amqp_sansio._speedups.Maker",
    .basicsize = sizeof(struct maker),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE
        | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = maker_slots,
};

/* Whether all of a class is written in Python: then a record with nothing but its slots is a whole one. */
static int
is_plain(PyTypeObject *type)
{
    PyObject *bases = type->tp_mro;
    for (Py_ssize_t index = 0; bases != NULL && index < PyTuple_GET_SIZE(bases); index++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(bases, index);
        if (base != &PyBaseObject_Type && !(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
            return 0;
        }
    }
    return type->tp_alloc == PyType_GenericAlloc && type->tp_itemsize == 0;
}

/* The slot of a class that has this name; NULL with an exception. It lives as long as the class. */
static PyMemberDef *
slot_of(PyTypeObject *type, PyObject *name)
{
    PyObject *found = PyObject_GetAttr((PyObject *)type, name);
    if (found == NULL) {
        return NULL;
    }
    PyMemberDef *slot = NULL;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(found))) {
        slot = ((PyMemberDescrObject *)found)->d_member;
    }
    Py_DECREF(found);
    if (slot == NULL || slot->type != Py_T_OBJECT_EX || slot->flags != 0) {
        PyErr_Format(PyExc_TypeError, "%R of %.100s is no slot", name, type->tp_name);
        return NULL;
    }
    return slot;
}

PyDoc_STRVAR(maker_doc,
"maker(cls, names, rest, /)\n"
"--\n"
"\n"
"What makes records of a class without its __init__: called with values for the slots that have these names, in their\n"
"order. The last ones always have the values in `rest`. Raises TypeError for names that are no slots of the class,\n"
"AttributeError for names that it doesn't have, and TypeError for classes that have more than Python gives them. The\n"
"maker raises TypeError for other numbers of values.");

static PyObject *
maker(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("maker", 3, nargs)) {
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)args[0];
    PyObject *names = args[1];
    PyObject *rest = args[2];
    if (!PyType_Check(args[0]) || !is_plain(type) || !PyTuple_CheckExact(names) || !PyTuple_CheckExact(rest)
        || PyTuple_GET_SIZE(names) > MOST_SLOTS || PyTuple_GET_SIZE(rest) > PyTuple_GET_SIZE(names)) {
        PyErr_Format(PyExc_TypeError, "maker takes a class of Python's, at most %d names and the last values, not %.100R",
                     MOST_SLOTS, args[0]);
        return NULL;
    }
    PyTypeObject *kind = ((struct state *)PyModule_GetState(module))->maker;
    struct maker *made = PyObject_GC_New(struct maker, kind);
    if (made == NULL) {
        return NULL;
    }
    made->call = call_maker;
    made->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    made->count = PyTuple_GET_SIZE(names) - PyTuple_GET_SIZE(rest);
    made->rest = Py_NewRef(rest);
    int is_whole = 1;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(names) && is_whole; index++) {
        made->slots[index] = slot_of(type, PyTuple_GET_ITEM(names, index));
        is_whole = made->slots[index] != NULL;
    }
    PyObject_GC_Track(made);
    if (!is_whole) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* The maker of `count` fields that an argument is. Returns 0 with an exception where it is none; None is NULL. */
static int
take_maker(PyObject *module, PyObject *value, Py_ssize_t count, const struct maker **found)
{
    *found = NULL;
    if (value == Py_None) {
        return 1;
    }
    if (!Py_IS_TYPE(value, ((struct state *)PyModule_GetState(module))->maker)
        || ((struct maker *)value)->count != count) {
        PyErr_Format(PyExc_TypeError, "a maker of %zd fields makes records, not %.100R", count, value);
        return 0;
    }
    *found = (const struct maker *)value;
    return 1;
}

/* The units of 0-8 and 0-9-1 */

enum {
    FRAME_METHOD = 1,
    FRAME_HEADER = 2,
    FRAME_BODY = 3,
    FRAME_END = 0xCE,
    OVERHEAD = 8,
    /* Where the last octet of the method's id stands in a method frame. */
    ID_END = 10,
    CLASS_BASIC = 60,
    PUBLISH = 40,
    DELIVER = 60,
    /* The kinds of units that have records: no methods have these numbers. */
    RECORDED_PUBLISH = 41,
    RECORDED_DELIVER = 61,
    ACK = 80,
    ACK_SIZE = 13,
    SHORTEST_HEADER = 14,
    /* A body above so many octets isn't waited for. */
    GATHERED = 1024,
    /* Octets between the payload of the method and the properties: an end octet, the begin of the header's frame,
       class, weight and size of the body. */
    BETWEEN = 20,
};

/* A unit, as it was found in the octets. What a method doesn't have isn't set. */
struct unit {
    const unsigned char *data;
    Py_ssize_t length;
    int64_t body_max;
    int64_t other_max;
    uint32_t number;
    uint64_t tag;
    /* Redelivered, or multiple; mandatory, and 2 for immediate. */
    unsigned char bits;
    /* Consumer tag, exchange and routing key: where their octets begin, and how many they are. */
    Py_ssize_t at[3];
    Py_ssize_t counts[3];
    Py_ssize_t raw;
    Py_ssize_t raw_end;
    /* Where the body begins; -1 where it hasn't come. */
    Py_ssize_t body;
    uint64_t size;
    Py_ssize_t end;
};

/* Finds the content behind a method's payload, which ends at `stop`, within the octets. Returns whether it is the
   usual one: a header of the same channel, and no body or one frame of it. `later` allows that a large body hasn't
   come; then `body` is -1. */
static int
find_content(struct unit *it, Py_ssize_t stop, int later)
{
    const unsigned char *data = it->data;
    if (it->length - stop < BETWEEN + 1) {
        return 0;
    }
    uint32_t header = read_u32(data + stop + 4);
    if (data[stop] != FRAME_END || data[stop + 1] != FRAME_HEADER || read_u16(data + stop + 2) != it->number
        || read_u32(data + stop + 8) != (uint32_t)CLASS_BASIC << 16 || header < SHORTEST_HEADER
        || (int64_t)header > it->other_max) {
        return 0;
    }
    it->size = read_u64(data + stop + 12);
    it->raw = stop + BETWEEN;
    if ((uint64_t)(it->length - it->raw) <= (uint64_t)header - 12) {
        return 0;
    }
    Py_ssize_t last = it->raw + (Py_ssize_t)(header - 12);
    it->raw_end = last;
    it->body = last;
    if (it->size != 0) {
        Py_ssize_t left = it->length - last - OVERHEAD;
        if (left > 0 && it->size < (uint64_t)left) {
            /* The end octet of the header's frame is read at the body's, as those of the frame that begins there. */
            if (data[last + 1] != FRAME_BODY || read_u16(data + last + 2) != it->number
                || read_u32(data + last + 4) != it->size || (int64_t)it->size > it->body_max
                || data[last] != FRAME_END) {
                return 0;
            }
            it->body = last + OVERHEAD;
            last = it->body + (Py_ssize_t)it->size;
        }
        else if (later && it->size > GATHERED) {
            it->body = -1;
        }
        else {
            return 0;
        }
    }
    it->end = last + 1;
    return data[last] == FRAME_END;
}

/* Finds a short string at `*next`, in front of `stop`, and `*next` behind it, which may be beyond. */
static int
find_name(struct unit *it, int index, Py_ssize_t *next, Py_ssize_t stop)
{
    if (*next >= stop) {
        return 0;
    }
    it->at[index] = *next + 1;
    it->counts[index] = it->data[*next];
    *next += 1 + it->counts[index];
    return 1;
}

/* Each finds its method at `pos`, whose payload of `size` octets is there, with its content. Returns whether it is the
   usual one. */
static int
find_deliver(struct unit *it, Py_ssize_t pos, uint32_t size)
{
    Py_ssize_t stop = pos + 7 + (Py_ssize_t)size;
    Py_ssize_t next = pos + 11;
    if (!find_name(it, 0, &next, stop) || stop - next < 9) {
        return 0;
    }
    it->tag = read_u64(it->data + next);
    it->bits = it->data[next + 8];
    next += 9;
    return find_name(it, 1, &next, stop) && find_name(it, 2, &next, stop) && next == stop && it->bits <= 1
        && find_content(it, stop, 1);
}

static int
find_publish(struct unit *it, Py_ssize_t pos, uint32_t size)
{
    Py_ssize_t stop = pos + 7 + (Py_ssize_t)size;
    Py_ssize_t next = pos + 13;
    if (!find_name(it, 1, &next, stop) || !find_name(it, 2, &next, stop) || next + 1 != stop) {
        return 0;
    }
    it->bits = it->data[next];
    return it->data[pos + 11] == 0 && it->data[pos + 12] == 0 && it->bits <= 3 && find_content(it, stop, 0);
}

static int
find_ack(struct unit *it, Py_ssize_t pos)
{
    const unsigned char *at = it->data + pos;
    if (it->length - pos < ACK_SIZE + OVERHEAD || read_u32(at + 3) != ACK_SIZE || at[19] > 1 || at[20] != FRAME_END) {
        return 0;
    }
    it->tag = read_u64(at + 11);
    it->bits = at[19];
    it->end = pos + ACK_SIZE + OVERHEAD;
    return 1;
}

/* Finds the unit at `pos`. Returns DELIVER, PUBLISH or ACK for a usual one, FRAME_BODY for the begin of a body frame,
   else 0. */
static int
find_unit(struct unit *it, Py_ssize_t pos)
{
    if (it->length - pos <= ID_END) {
        return 0;
    }
    const unsigned char *at = it->data + pos;
    uint32_t size = read_u32(at + 3);
    it->number = read_u16(at + 1);
    if (at[0] == FRAME_BODY) {
        it->size = size;
        return FRAME_BODY;
    }
    if (at[0] != FRAME_METHOD || read_u16(at + 7) != CLASS_BASIC) {
        return 0;
    }
    uint32_t method = read_u16(at + 9);
    if (method == ACK) {
        return find_ack(it, pos) ? ACK : 0;
    }
    /* The whole method has to be there: whatever is read of it lies in front of its end. */
    if ((int64_t)size > it->other_max || (uint64_t)(it->length - pos) < (uint64_t)size + OVERHEAD) {
        return 0;
    }
    if (method == DELIVER) {
        return find_deliver(it, pos, size) ? DELIVER : 0;
    }
    return method == PUBLISH && find_publish(it, pos, size) ? PUBLISH : 0;
}

static PyObject *
octets_of(const struct unit *it, Py_ssize_t start, Py_ssize_t stop)
{
    return PyBytes_FromStringAndSize((const char *)it->data + start, stop - start);
}

static PyObject *
body_of(const struct unit *it)
{
    return it->body < 0 ? Py_NewRef(Py_None) : octets_of(it, it->body, it->body + (Py_ssize_t)it->size);
}

/* What the records of a unit are made with; a maker may be NULL. References belong to the caller's arguments. */
struct recorders {
    PyObject *rules;
    /* Of the octets of properties and the rules. */
    const struct maker *properties;
    /* Of the fields of a deliver; or of its channel, these, body, octets of properties, rules and properties. */
    const struct maker *deliver;
    const struct maker *delivery;
    /* Of the fields of a publish. */
    const struct maker *publish;
};

/* Whether `known` is a tuple of four items with strings from `first` up to `stop`. */
static int
has_texts(PyObject *known, Py_ssize_t first, Py_ssize_t stop)
{
    if (!PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != 4) {
        return 0;
    }
    for (Py_ssize_t index = first; index < stop; index++) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(known, index))) {
            return 0;
        }
    }
    return 1;
}

/* A deliver whose body is there, with its properties and its record, or its delivery alone. */
static PyObject *
recorded_deliver_of(const struct unit *it, PyObject *names, const struct recorders *by)
{
    PyObject *values[10] = {NULL};
    PyObject *record = NULL;
    PyObject *unit = NULL;
    for (int index = 0; index < 4; index++) {
        /* Between consumer tag and exchange come the delivery tag and its bit. */
        values[index < 2 ? index : index + 2] = Py_NewRef(PyTuple_GET_ITEM(names, index));
    }
    values[2] = PyLong_FromUnsignedLongLong(it->tag);
    values[3] = PyBool_FromLong(it->bits);
    values[6] = octets_of(it, it->body, it->body + (Py_ssize_t)it->size);
    values[7] = octets_of(it, it->raw, it->raw_end);
    values[8] = Py_NewRef(by->rules);
    if (values[2] == NULL || values[6] == NULL || values[7] == NULL) {
        goto fail;
    }
    values[9] = make(by->properties, values + 7);
    if (values[9] == NULL) {
        goto fail;
    }
    record = by->delivery != NULL ? make(by->delivery, values) : make(by->deliver, values + 1);
    if (record == NULL) {
        goto fail;
    }
    unit = PyTuple_New(by->delivery != NULL ? 6 : 9);
    if (unit == NULL) {
        goto fail;
    }
    PUT(unit, 0, PyLong_FromLong(RECORDED_DELIVER));
    PUT(unit, 1, Py_NewRef(names));
    PUT(unit, 2, Py_NewRef(values[2]));
    PUT(unit, 3, PyLong_FromUnsignedLongLong(it->size));
    PUT(unit, 4, PyLong_FromSsize_t(it->end));
    PUT(unit, 5, Py_NewRef(record));
    if (by->delivery == NULL) {
        PUT(unit, 6, Py_NewRef(values[9]));
        PUT(unit, 7, Py_NewRef(values[7]));
        PUT(unit, 8, Py_NewRef(values[6]));
    }
    goto done;
fail:
    Py_CLEAR(unit);
done:
    Py_XDECREF(record);
    for (int index = 0; index < 10; index++) {
        Py_XDECREF(values[index]);
    }
    return unit;
}

static PyObject *
deliver_of(const struct unit *it, PyObject *known, const struct recorders *by)
{
    PyObject *names[3] = {NULL, NULL, NULL};
    PyObject *found = NULL;
    PyObject *unit = NULL;
    PyObject *channel = PyLong_FromUnsignedLong(it->number);
    if (channel == NULL) {
        return NULL;
    }
    int same = has_texts(known, 1, 4);
    int all = 0;
    if (same) {
        all = PyObject_RichCompareBool(PyTuple_GET_ITEM(known, 0), channel, Py_EQ);
        if (all < 0) {
            goto done;
        }
    }
    for (int index = 0; index < 3; index++) {
        PyObject *before = same ? PyTuple_GET_ITEM(known, index + 1) : NULL;
        int status = text_of(it->data + it->at[index], it->counts[index], before, &names[index]);
        if (status <= 0) {
            if (status == 0) {
                unit = Py_NewRef(Py_None);
            }
            goto done;
        }
        all = all && names[index] == before;
    }
    found = all ? Py_NewRef(known) : PyTuple_Pack(4, channel, names[0], names[1], names[2]);
    if (found == NULL) {
        goto done;
    }
    if (by != NULL && it->body >= 0 && (by->deliver != NULL || by->delivery != NULL)) {
        unit = recorded_deliver_of(it, found, by);
        goto done;
    }
    unit = PyTuple_New(8);
    if (unit == NULL) {
        goto done;
    }
    PUT(unit, 0, PyLong_FromLong(DELIVER));
    PUT(unit, 1, Py_NewRef(found));
    PUT(unit, 2, PyLong_FromUnsignedLongLong(it->tag));
    PUT(unit, 3, PyBool_FromLong(it->bits));
    PUT(unit, 4, octets_of(it, it->raw, it->raw_end));
    PUT(unit, 5, body_of(it));
    PUT(unit, 6, PyLong_FromUnsignedLongLong(it->size));
    PUT(unit, 7, PyLong_FromSsize_t(it->end));
    goto done;
fail:
    Py_CLEAR(unit);
done:
    Py_XDECREF(found);
    Py_DECREF(channel);
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    Py_XDECREF(names[2]);
    return unit;
}

static PyObject *
publish_of(const struct unit *it, PyObject *known, const struct recorders *by)
{
    PyObject *names[2] = {NULL, NULL};
    PyObject *route = NULL;
    PyObject *unit = NULL;
    PyObject *mandatory = it->bits & 1 ? Py_True : Py_False;
    PyObject *immediate = it->bits & 2 ? Py_True : Py_False;
    int same = has_texts(known, 0, 2);
    int all = same && PyTuple_GET_ITEM(known, 2) == mandatory && PyTuple_GET_ITEM(known, 3) == immediate;
    for (int index = 0; index < 2; index++) {
        PyObject *before = same ? PyTuple_GET_ITEM(known, index) : NULL;
        int status = text_of(it->data + it->at[index + 1], it->counts[index + 1], before, &names[index]);
        if (status <= 0) {
            if (status == 0) {
                unit = Py_NewRef(Py_None);
            }
            goto done;
        }
        all = all && names[index] == before;
    }
    route = all ? Py_NewRef(known) : PyTuple_Pack(4, names[0], names[1], mandatory, immediate);
    if (route == NULL) {
        goto done;
    }
    int is_recorded = by != NULL && by->publish != NULL;
    unit = PyTuple_New(is_recorded ? 8 : 6);
    if (unit == NULL) {
        goto done;
    }
    PUT(unit, 0, PyLong_FromLong(is_recorded ? RECORDED_PUBLISH : PUBLISH));
    PUT(unit, 1, PyLong_FromUnsignedLong(it->number));
    PUT(unit, 2, Py_NewRef(route));
    PUT(unit, 3, octets_of(it, it->raw, it->raw_end));
    PUT(unit, 4, body_of(it));
    PUT(unit, 5, PyLong_FromSsize_t(it->end));
    if (is_recorded) {
        PyObject *octets[2] = {PyTuple_GET_ITEM(unit, 3), by->rules};
        PUT(unit, 6, make(by->publish, &PyTuple_GET_ITEM(route, 0)));
        PUT(unit, 7, make(by->properties, octets));
    }
    goto done;
fail:
    Py_CLEAR(unit);
done:
    Py_XDECREF(route);
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    return unit;
}

static PyObject *
ack_of(const struct unit *it)
{
    PyObject *unit = PyTuple_New(5);
    if (unit == NULL) {
        return NULL;
    }
    PUT(unit, 0, PyLong_FromLong(ACK));
    PUT(unit, 1, PyLong_FromUnsignedLong(it->number));
    PUT(unit, 2, PyLong_FromUnsignedLongLong(it->tag));
    PUT(unit, 3, PyBool_FromLong(it->bits));
    PUT(unit, 4, PyLong_FromSsize_t(it->end));
    return unit;
fail:
    Py_DECREF(unit);
    return NULL;
}

static PyObject *
begin_of(const struct unit *it)
{
    PyObject *unit = PyTuple_New(3);
    if (unit == NULL) {
        return NULL;
    }
    PUT(unit, 0, PyLong_FromLong(FRAME_BODY));
    PUT(unit, 1, PyLong_FromUnsignedLong(it->number));
    PUT(unit, 2, PyLong_FromUnsignedLongLong(it->size));
    return unit;
fail:
    Py_DECREF(unit);
    return NULL;
}

PyDoc_STRVAR(scan_content_doc,
"scan_content(data, pos, body_max, other_max, names, rules=..., makers=..., /)\n"
"--\n"
"\n"
"The usual unit of 0-8 or 0-9-1 at `pos` as a tuple that begins with its kind; None where there is none.\n"
"\n"
"60, deliver: (channel, consumer tag, exchange, routing key), delivery tag, redelivered, the octets of the properties,\n"
"the body, None where it hasn't come, its size, where the unit ends. 40, publish: channel, (exchange, routing key,\n"
"mandatory, immediate), the octets of the properties, the body, where the unit ends. 80, ack: channel, tag, multiple,\n"
"where the unit ends. 3, the begin of a body frame: channel, size.\n"
"`names` may be the inner tuple of another unit: what both have in common isn't made again.\n"
"`makers`: of properties (octets, rules); of the fields of a deliver or None; of a delivery (channel, these fields, body,\n"
"octets of properties, rules, properties) or None; of the first four fields of a publish or None. With one of its own a\n"
"deliver whose body is there is: 61, channel and names, delivery tag, size of the body, where the unit ends, the\n"
"delivery; or, in its place, the deliver's record, its properties, their octets and the body. A publish is then 41, and\n"
"has its record and its properties behind it.\n"
"Raises TypeError, ValueError and OverflowError for arguments of other types or a place below 0.");

/* Reads what scan_content is given behind the names. Returns 0 with an exception. */
static int
take_recorders(PyObject *module, PyObject *const *args, struct recorders *by)
{
    PyObject *makers = args[1];
    if (!PyTuple_CheckExact(makers) || PyTuple_GET_SIZE(makers) != 4 || PyTuple_GET_ITEM(makers, 0) == Py_None) {
        PyErr_Format(PyExc_TypeError, "scan_content takes a tuple of 4 makers, not %.100R", makers);
        return 0;
    }
    by->rules = args[0];
    return take_maker(module, PyTuple_GET_ITEM(makers, 0), 2, &by->properties)
        && take_maker(module, PyTuple_GET_ITEM(makers, 1), 5, &by->deliver)
        && take_maker(module, PyTuple_GET_ITEM(makers, 2), 10, &by->delivery)
        && take_maker(module, PyTuple_GET_ITEM(makers, 3), 4, &by->publish);
}

static PyObject *
scan_content(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_content", nargs == 7 ? 7 : 5, nargs) || !reads("scan_content", args[0])) {
        return NULL;
    }
    Py_ssize_t pos = 0;
    struct unit it = {.data = (const unsigned char *)PyBytes_AS_STRING(args[0]), .length = PyBytes_GET_SIZE(args[0])};
    struct recorders recorders;
    struct recorders *by = nargs == 7 ? &recorders : NULL;
    if (place_of("scan_content", args[1], &pos) < 0 || bound_of(args[2], &it.body_max) < 0
        || bound_of(args[3], &it.other_max) < 0 || (by != NULL && !take_recorders(module, args + 5, by))) {
        return NULL;
    }
    switch (find_unit(&it, pos)) {
    case DELIVER:
        return deliver_of(&it, args[4], by);
    case PUBLISH:
        return publish_of(&it, args[4], by);
    case ACK:
        return ack_of(&it);
    case FRAME_BODY:
        return begin_of(&it);
    default:
        Py_RETURN_NONE;
    }
}

/* Rows of many units of 0-8 and 0-9-1 */

enum {
    /* What a row may have of a unit. First numbers, ... */
    SEQ,
    CHANNEL,
    SIZE,
    OFFSET,
    TAG,
    BODY_SIZE,
    NUMBERS,
    /* ... then what is true or false, ... */
    FIRST_BIT = NUMBERS,
    SECOND_BIT,
    /* ... and objects: those of the instant, which all units of a call share, and texts. */
    AT_NS,
    TS,
    MOMENT,
    CONSUMER_TAG,
    EXCHANGE,
    ROUTING_KEY,
    MESSAGE,
    /* Of 1.0 alone: the members around the numbers, the tag and the last delivery. */
    BEFORE,
    AFTER,
    TAGGED,
    LAST,
    VALUES,
    OBJECTS = VALUES - AT_NS,
    /* The decimal digits of 64 bits. */
    DIGITS = 20,
    MOST_PARTS = 64,
};

/* A text that was found for octets. The next unit mostly has the same ones. */
struct kept {
    const unsigned char *at;
    Py_ssize_t count;
};

/* What becomes rows, and what rows are made of. All references but `objects` belong to the caller's arguments. */
struct rows {
    struct unit unit;
    /* Where rows go, and what stands in front of each. */
    PyObject *rows;
    PyObject *table;
    /* The columns of a deliver, publish and ack; what makes a row of a tuple; texts of properties, and of names. */
    PyObject *forms[3];
    PyObject *make;
    PyObject *texts;
    PyObject *names;
    /* The channels that are open, and the one that was found among them last; -1 for none. */
    PyObject *channels;
    int64_t open;
    int64_t most;
    uint64_t numbers[NUMBERS];
    int bits[2];
    PyObject *objects[OBJECTS];
    struct kept kept[OBJECTS];
};

/* Sets a text of a unit, whose reference it takes. Returns as `text_of`; NULL without an exception is none. */
static int
set_object(struct rows *it, int value, PyObject *text)
{
    if (text == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "a text of a row is str, not %.100s", Py_TYPE(text)->tp_name);
        Py_DECREF(text);
        return -1;
    }
    Py_XSETREF(it->objects[value - AT_NS], text);
    return 1;
}

/* Sets the text of a name or of properties, which is a value of `known` by what `key` makes of the octets, unless they
   are those of the unit before. Returns as `text_of`, 0 also where `known` has none. */
static int
set_text(struct rows *it, int value, Py_ssize_t at, Py_ssize_t count)
{
    struct kept *kept = &it->kept[value - AT_NS];
    const unsigned char *octets = it->unit.data + at;
    if (kept->at != NULL && kept->count == count && memcmp(kept->at, octets, (size_t)count) == 0) {
        return 1;
    }
    PyObject *key = NULL;
    PyObject *text = NULL;
    if (value == MESSAGE) {
        key = PyBytes_FromStringAndSize((const char *)octets, count);
        text = key == NULL ? NULL : look_up(it->texts, key);
    }
    else {
        int status = text_of(octets, count, NULL, &key);
        if (status <= 0) {
            return status;
        }
        text = PyObject_GetItem(it->names, key);
    }
    Py_XDECREF(key);
    int status = set_object(it, value, text);
    if (status > 0) {
        kept->at = octets;
        kept->count = count;
    }
    return status;
}

/* Whether the channel of the unit is open. Returns -1 with an exception. */
static int
is_open(struct rows *it)
{
    if (it->open == (int64_t)it->unit.number) {
        return 1;
    }
    PyObject *number = PyLong_FromUnsignedLong(it->unit.number);
    if (number == NULL) {
        return -1;
    }
    int found = PySet_Contains(it->channels, number);
    Py_DECREF(number);
    if (found > 0) {
        it->open = it->unit.number;
    }
    return found;
}

/* Sets the values of the unit at `pos`, which is a `method`. Returns as `set_text`. */
static int
set_values(struct rows *it, int method, Py_ssize_t pos)
{
    const struct unit *unit = &it->unit;
    it->numbers[CHANNEL] = unit->number;
    it->numbers[SIZE] = (uint64_t)(unit->end - pos);
    it->numbers[TAG] = unit->tag;
    it->numbers[BODY_SIZE] = unit->size;
    it->bits[0] = unit->bits & 1;
    it->bits[1] = unit->bits >> 1;
    if (method == ACK) {
        return 1;
    }
    int status = set_text(it, MESSAGE, unit->raw, unit->raw_end - unit->raw);
    for (int index = method == DELIVER ? 0 : 1; index < 3 && status > 0; index++) {
        status = set_text(it, CONSUMER_TAG + index, unit->at[index], unit->counts[index]);
    }
    return status;
}

/* The value that an item of a form stands for, below `VALUES`; -1 with a TypeError where it stands for none. */
static int
value_of(const struct rows *it, PyObject *item)
{
    long value = PyLong_Check(item) ? PyLong_AsLong(item) : -1;
    if (value < 0 || value >= VALUES || (value >= AT_NS && it->objects[value - AT_NS] == NULL)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%.100R stands for no value of this unit", item);
        return -1;
    }
    return (int)value;
}

/* A part of a line: a text, or else as many octets of ASCII. */
struct part {
    PyObject *text;
    const void *octets;
    Py_ssize_t count;
};

/* The decimal digits of a number, at the end of `room`. */
static void
write_digits(uint64_t number, char *room, struct part *part)
{
    char *at = room + DIGITS;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    part->octets = at;
    part->count = room + DIGITS - at;
}

/* What an item of a line says, with `room` for digits. Returns -1 with an exception. */
static int
part_of(const struct rows *it, PyObject *item, char *room, struct part *part)
{
    part->text = NULL;
    if (!PyUnicode_Check(item)) {
        int value = value_of(it, item);
        if (value < 0) {
            return -1;
        }
        if (value < NUMBERS) {
            write_digits(it->numbers[value], room, part);
            return 0;
        }
        if (value < AT_NS) {
            int is_true = it->bits[value - FIRST_BIT];
            part->octets = is_true ? "true" : "false";
            part->count = is_true ? 4 : 5;
            return 0;
        }
        item = it->objects[value - AT_NS];
        if (!PyUnicode_Check(item)) {
            PyErr_Format(PyExc_TypeError, "a line takes str, not %.100s", Py_TYPE(item)->tp_name);
            return -1;
        }
    }
    part->text = item;
    part->octets = PyUnicode_DATA(item);
    part->count = PyUnicode_GET_LENGTH(item);
    return 0;
}

/* Writes a part into a new text that has room for it. Returns -1 with an exception. */
static int
write_part(PyObject *line, Py_ssize_t at, const struct part *part)
{
    if (PyUnicode_KIND(line) == PyUnicode_1BYTE_KIND) {
        /* Then each part has one octet for a character. */
        memcpy(PyUnicode_1BYTE_DATA(line) + at, part->octets, (size_t)part->count);
        return 0;
    }
    if (part->text != NULL) {
        return PyUnicode_CopyCharacters(line, at, part->text, 0, part->count) < 0 ? -1 : 0;
    }
    for (Py_ssize_t index = 0; index < part->count; index++) {
        PyUnicode_WRITE(PyUnicode_KIND(line), PyUnicode_DATA(line), at + index, ((const char *)part->octets)[index]);
    }
    return 0;
}

/* The text that `items` say one after the other: each is a text, or the number of a value. */
static PyObject *
line_of(const struct rows *it, PyObject *items)
{
    struct part parts[MOST_PARTS];
    char rooms[MOST_PARTS][DIGITS];
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    if (count > MOST_PARTS) {
        PyErr_Format(PyExc_TypeError, "a line has at most %d parts, not %zd", MOST_PARTS, count);
        return NULL;
    }
    Py_ssize_t length = 0;
    Py_UCS4 largest = 127;
    for (Py_ssize_t index = 0; index < count; index++) {
        struct part *part = &parts[index];
        if (part_of(it, PyTuple_GET_ITEM(items, index), rooms[index], part) < 0) {
            return NULL;
        }
        length += part->count;
        if (part->text != NULL && PyUnicode_MAX_CHAR_VALUE(part->text) > largest) {
            largest = PyUnicode_MAX_CHAR_VALUE(part->text);
        }
    }
    PyObject *line = PyUnicode_New(length, largest);
    Py_ssize_t at = 0;
    for (Py_ssize_t index = 0; index < count && line != NULL; index++) {
        if (write_part(line, at, &parts[index]) < 0) {
            Py_CLEAR(line);
        }
        at += parts[index].count;
    }
    return line;
}

/* The value of a column. */
static PyObject *
column_of(const struct rows *it, PyObject *item)
{
    if (PyTuple_CheckExact(item)) {
        return line_of(it, item);
    }
    if (!PyLong_CheckExact(item)) {
        return Py_NewRef(item);
    }
    int value = value_of(it, item);
    if (value < 0) {
        return NULL;
    }
    if (value < NUMBERS) {
        return PyLong_FromUnsignedLongLong(it->numbers[value]);
    }
    return value < AT_NS ? PyBool_FromLong(it->bits[value - FIRST_BIT]) : Py_NewRef(it->objects[value - AT_NS]);
}

/* Appends the row of the unit whose values are set. Returns -1 with an exception. */
static int
append_row(const struct rows *it, PyObject *form)
{
    int status = -1;
    PyObject *entry = NULL;
    PyObject *row = PyTuple_New(PyTuple_GET_SIZE(form));
    if (row == NULL) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(form); index++) {
        PUT(row, index, column_of(it, PyTuple_GET_ITEM(form, index)));
    }
    if (it->make != Py_None) {
        Py_SETREF(row, PyObject_CallOneArg(it->make, row));
        if (row == NULL) {
            return -1;
        }
    }
    entry = PyTuple_Pack(2, it->table, row);
    if (entry != NULL) {
        status = PyList_Append(it->rows, entry);
    }
    Py_XDECREF(entry);
fail:
    Py_DECREF(row);
    return status;
}

/* Reads the last four arguments of a function for rows. Returns -1 with an exception; references in `objects` are new
   ones. */
static int
read_plan(struct rows *it, const char *name, PyObject *const *args)
{
    PyObject *instant = args[1];
    PyObject *plan = args[2];
    if (!PyAnySet_Check(args[0]) || !PyTuple_CheckExact(instant) || PyTuple_GET_SIZE(instant) != 3
        || !PyTuple_CheckExact(plan) || PyTuple_GET_SIZE(plan) != 7 || !PyDict_Check(PyTuple_GET_ITEM(plan, 4))
        || !PyList_Check(args[3])) {
        PyErr_Format(PyExc_TypeError, "%s takes a set of what is open, an instant of 3, a plan of 7 and a list", name);
        return -1;
    }
    for (int index = 0; index < 3; index++) {
        PyObject *form = PyTuple_GET_ITEM(plan, index);
        if (form != Py_None && !PyTuple_CheckExact(form)) {
            PyErr_Format(PyExc_TypeError, "a form of %s is a tuple or None, not %.100R", name, form);
            return -1;
        }
        it->forms[index] = form;
        it->objects[index] = Py_NewRef(PyTuple_GET_ITEM(instant, index));
    }
    it->make = PyTuple_GET_ITEM(plan, 3);
    it->texts = PyTuple_GET_ITEM(plan, 4);
    it->names = PyTuple_GET_ITEM(plan, 5);
    it->table = PyTuple_GET_ITEM(plan, 6);
    it->channels = args[0];
    it->open = -1;
    it->rows = args[3];
    return 0;
}

/* Reads an offset, the one behind which units have another time, and the number of the first unit. Returns -1 with an
   exception. */
static int
read_places(PyObject *const *args, uint64_t *places)
{
    for (int index = 0; index < 3; index++) {
        places[index] = PyLong_AsUnsignedLongLong(args[index]);
        if (places[index] == (uint64_t)-1 && PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* What a function for rows returns, with an exception if the status is below 0; `it` ends. */
static PyObject *
end_rows(struct rows *it, int status, Py_ssize_t pos, uint64_t seq, uint64_t later)
{
    for (int index = 0; index < OBJECTS; index++) {
        Py_XDECREF(it->objects[index]);
    }
    if (status < 0) {
        return NULL;
    }
    return Py_BuildValue("(nKK)", pos, (unsigned long long)seq, (unsigned long long)later);
}

PyDoc_STRVAR(scan_rows_doc,
"scan_rows(data, pos, body_max, other_max, most, base, stop, seq, channels, instant, plan, rows, /)\n"
"--\n"
"\n"
"Append the rows of the usual units of 0-8 or 0-9-1 from `pos` on, up to what isn't usual. Return where that begins,\n"
"the number of the next unit, and the offset of its end if all that is unusual is an end behind `stop`, else 0.\n"
"\n"
"A body has at most `most` octets, and the channel is one of `channels`. `data` begins at the offset `base`; units that\n"
"end behind the offset `stop` have another instant, which is (at_ns, ts, a text). `seq` is the first unit's number.\n"
"`plan`: the forms of a deliver, publish and ack; make(tuple), or None where a row is the tuple; texts by the octets of\n"
"properties, which are unusual without one; texts found with [name]; what stands before a row in its pair.\n"
"A form is a tuple of columns, empty for no row, or None for a unit that isn't usual. A column is a tuple of parts that\n"
"are joined, the number of a value, or itself. A part is str or the number of a value: 0 seq, 1 channel, 2 size,\n"
"3 offset, 4 tag, 5 size of the body, 6 redelivered, mandatory or multiple, 7 immediate, 8 to 10 of the instant,\n"
"11 consumer tag, 12 exchange, 13 routing key, 14 properties.\n"
"Raises what make and [name] raise, behind the rows before it; TypeError, ValueError and OverflowError for other\n"
"arguments.");

static PyObject *
scan_rows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t pos = 0;
    uint64_t places[3];
    if (!takes("scan_rows", 12, nargs) || !reads("scan_rows", args[0]) || place_of("scan_rows", args[1], &pos) < 0) {
        return NULL;
    }
    if (read_places(args + 5, places) < 0) {
        return NULL;
    }
    uint64_t base = places[0];
    uint64_t stop = places[1];
    uint64_t seq = places[2];
    uint64_t later = 0;
    struct rows it = {
        .unit = {.data = (const unsigned char *)PyBytes_AS_STRING(args[0]), .length = PyBytes_GET_SIZE(args[0])},
    };
    if (bound_of(args[2], &it.unit.body_max) < 0 || bound_of(args[3], &it.unit.other_max) < 0
        || bound_of(args[4], &it.most) < 0) {
        return NULL;
    }
    int status = read_plan(&it, "scan_rows", args + 8);
    while (status >= 0) {
        PyObject *form = Py_None;
        int method = find_unit(&it.unit, pos);
        if (method == DELIVER && it.unit.body >= 0) {
            form = it.forms[0];
        }
        else if (method == PUBLISH) {
            form = it.forms[1];
        }
        else if (method == ACK) {
            form = it.forms[2];
        }
        if (form == Py_None || (method != ACK && (int64_t)it.unit.size > it.most)) {
            break;
        }
        status = is_open(&it);
        if (status <= 0) {
            break;
        }
        if (base + (uint64_t)it.unit.end > stop) {
            later = base + (uint64_t)it.unit.end;
            break;
        }
        it.numbers[SEQ] = seq;
        it.numbers[OFFSET] = base + (uint64_t)pos;
        status = set_values(&it, method, pos);
        if (status > 0 && PyTuple_GET_SIZE(form) > 0) {
            status = append_row(&it, form) < 0 ? -1 : 1;
        }
        if (status <= 0) {
            break;
        }
        pos = it.unit.end;
        seq += 1;
    }
    return end_rows(&it, status, pos, seq, later);
}

/* The field tables of 0-8 and 0-9-1 */

enum {
    /* The deepest nesting that is read, whatever is asked for: each level is a call. */
    DEEPEST = 128,
};

struct table {
    const unsigned char *data;
    int first_wins;
    int l_is_unsigned;
    int s_is_string;
    int64_t entries;
    int64_t depth;
    PyObject *rules;
    PyObject *make;
    PyObject *timestamp;
};

static int read_fields(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values);
static int read_items(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values);

/* The table between `pos` and `end` as `make` makes it. Returns as `read_value`. */
static int
read_table(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **value)
{
    PyObject *values = NULL;
    int status = read_fields(it, pos, end, level, &values);
    if (status <= 0) {
        return status;
    }
    PyObject *raw = PyBytes_FromStringAndSize((const char *)it->data + pos, end - pos);
    if (raw == NULL) {
        Py_DECREF(values);
        return -1;
    }
    *value = PyObject_CallFunctionObjArgs(it->make, raw, it->rules, values, NULL);
    Py_DECREF(raw);
    Py_DECREF(values);
    return *value == NULL ? -1 : 1;
}

static int
read_timestamp(const struct table *it, uint64_t seconds, PyObject **value)
{
    PyObject *number = PyLong_FromUnsignedLongLong(seconds);
    if (number == NULL) {
        return -1;
    }
    *value = PyObject_CallOneArg(it->timestamp, number);
    Py_DECREF(number);
    return *value == NULL ? -1 : 1;
}

static PyObject *
float_of(const unsigned char *at, int size)
{
    double found = size == 4 ? PyFloat_Unpack4((const char *)at, 0) : PyFloat_Unpack8((const char *)at, 0);
    if (found == -1.0 && PyErr_Occurred()) {
        return NULL;
    }
    return PyFloat_FromDouble(found);
}

static PyObject *
signed_of(const unsigned char *at)
{
    uint64_t octets = read_u64(at);
    int64_t number;
    memcpy(&number, &octets, sizeof number);
    return PyLong_FromLongLong(number);
}

/* The value whose tag stands at `*pos`, in front of `end`, and `*pos` behind it. Returns 1 with a new reference; 0
   without an exception for what isn't usual, or not whole; -1 with an exception. */
static int
read_value(const struct table *it, Py_ssize_t *pos, Py_ssize_t end, int level, PyObject **value)
{
    const unsigned char *data = it->data;
    unsigned char tag = data[*pos];
    Py_ssize_t at = *pos + 1;
    uint64_t size = 0;
    switch (tag) {
    case 'V':
        break;
    case 't':
    case 'b':
    case 'B':
        size = 1;
        break;
    case 's':
        if (it->s_is_string && at >= end) {
            return 0;
        }
        size = it->s_is_string ? 1 + (uint64_t)data[at] : 2;
        break;
    case 'U':
    case 'u':
        size = 2;
        break;
    case 'I':
    case 'i':
    case 'f':
        size = 4;
        break;
    case 'l':
    case 'L':
    case 'd':
    case 'T':
        size = 8;
        break;
    case 'S':
    case 'x':
    case 'F':
    case 'A':
        if (end - at < 4) {
            return 0;
        }
        size = 4 + (uint64_t)read_u32(data + at);
        break;
    default:
        return 0;
    }
    if (size > (uint64_t)(end - at)) {
        return 0;
    }
    const unsigned char *here = data + at;
    Py_ssize_t stop = at + (Py_ssize_t)size;
    *pos = stop;
    switch (tag) {
    case 'S':
        return text_of(here + 4, stop - at - 4, NULL, value);
    case 'F':
        return read_table(it, at + 4, stop, level + 1, value);
    case 'A':
        return read_items(it, at + 4, stop, level + 1, value);
    case 'T':
        return read_timestamp(it, read_u64(here), value);
    case 's':
        if (it->s_is_string) {
            return text_of(here + 1, stop - at - 1, NULL, value);
        }
        *value = PyLong_FromLong((long)read_u16(here) - (here[0] & 0x80 ? 0x10000 : 0));
        break;
    case 'U':
        *value = PyLong_FromLong((long)read_u16(here) - (here[0] & 0x80 ? 0x10000 : 0));
        break;
    case 'u':
        *value = PyLong_FromLong((long)read_u16(here));
        break;
    case 'b':
        *value = PyLong_FromLong((long)here[0] - (here[0] & 0x80 ? 0x100 : 0));
        break;
    case 'B':
        *value = PyLong_FromLong((long)here[0]);
        break;
    case 't':
        *value = PyBool_FromLong(here[0]);
        break;
    case 'I':
        *value = PyLong_FromLongLong((long long)read_u32(here) - (here[0] & 0x80 ? 0x100000000LL : 0));
        break;
    case 'i':
        *value = PyLong_FromUnsignedLong(read_u32(here));
        break;
    case 'l':
        *value = it->l_is_unsigned ? PyLong_FromUnsignedLongLong(read_u64(here)) : signed_of(here);
        break;
    case 'L':
        *value = signed_of(here);
        break;
    case 'f':
        *value = float_of(here, 4);
        break;
    case 'd':
        *value = float_of(here, 8);
        break;
    case 'x':
        *value = PyBytes_FromStringAndSize((const char *)here + 4, stop - at - 4);
        break;
    default: /* V */
        *value = Py_NewRef(Py_None);
        break;
    }
    return *value == NULL ? -1 : 1;
}

/* Whether the octets of a table or an array on this level are within the bounds. */
static int
is_bounded(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level)
{
    return (int64_t)(end - pos) <= it->entries && level <= it->depth && level <= DEEPEST;
}

/* The entries between `pos` and `end` as a dict. Returns as `read_value`. */
static int
read_fields(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values)
{
    if (!is_bounded(it, pos, end, level)) {
        return 0;
    }
    PyObject *found = PyDict_New();
    if (found == NULL) {
        return -1;
    }
    int status = 1;
    while (pos < end) {
        PyObject *name = NULL;
        PyObject *value = NULL;
        Py_ssize_t count = it->data[pos];
        if (end - pos - 1 <= count) {
            status = 0;
            break;
        }
        status = text_of(it->data + pos + 1, count, NULL, &name);
        if (status <= 0) {
            break;
        }
        pos += 1 + count;
        status = read_value(it, &pos, end, level, &value);
        if (status > 0) {
            int there = it->first_wins ? PyDict_Contains(found, name) : 0;
            if (there < 0 || (there == 0 && PyDict_SetItem(found, name, value) < 0)) {
                status = -1;
            }
            Py_DECREF(value);
        }
        Py_DECREF(name);
        if (status <= 0) {
            break;
        }
    }
    if (status <= 0) {
        Py_DECREF(found);
        return status;
    }
    *values = found;
    return 1;
}

/* The values between `pos` and `end` as a list. Returns as `read_value`. */
static int
read_items(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values)
{
    if (!is_bounded(it, pos, end, level)) {
        return 0;
    }
    PyObject *found = PyList_New(0);
    if (found == NULL) {
        return -1;
    }
    int status = 1;
    while (pos < end) {
        PyObject *value = NULL;
        status = read_value(it, &pos, end, level, &value);
        if (status > 0) {
            if (PyList_Append(found, value) < 0) {
                status = -1;
            }
            Py_DECREF(value);
        }
        if (status <= 0) {
            Py_DECREF(found);
            return status;
        }
    }
    *values = found;
    return 1;
}

PyDoc_STRVAR(scan_table_doc,
"scan_table(raw, first_wins, l_is_unsigned, s_is_string, entries, depth, rules, make, timestamp, /)\n"
"--\n"
"\n"
"The fields of a table of 0-8 or 0-9-1, without the length in front, as a dict; None for what isn't usual, or wrong.\n"
"\n"
"`first_wins`: of entries with one name the first counts, else the last. `l_is_unsigned`, `s_is_string`: what these\n"
"tags mean. `entries` bounds the octets of a table or an array, `depth` the levels. A table within is what\n"
"make(octets, rules, dict) returns, a timestamp timestamp(seconds). Raises what these raise, TypeError for arguments\n"
"of other types.");

static PyObject *
scan_table(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_table", 9, nargs) || !reads("scan_table", args[0])) {
        return NULL;
    }
    struct table it = {
        .data = (const unsigned char *)PyBytes_AS_STRING(args[0]),
        .first_wins = args[1] == Py_True,
        .l_is_unsigned = args[2] == Py_True,
        .s_is_string = args[3] == Py_True,
        .rules = args[6],
        .make = args[7],
        .timestamp = args[8],
    };
    if (bound_of(args[4], &it.entries) < 0 || bound_of(args[5], &it.depth) < 0) {
        return NULL;
    }
    PyObject *values = NULL;
    int status = read_fields(&it, 0, PyBytes_GET_SIZE(args[0]), 1, &values);
    if (status == 0) {
        Py_RETURN_NONE;
    }
    return status < 0 ? NULL : values;
}

/* The properties of content of 0-8 and 0-9-1 */

enum {
    /* The most properties of a class. */
    MOST_PROPERTIES = 14,
};

/* The property at `*pos`, and `*pos` behind it. Returns as `read_value`. */
static int
read_property(unsigned char kind, const struct maker *table, PyObject *rules, const struct unit *it, Py_ssize_t *pos,
              PyObject **value)
{
    Py_ssize_t at = *pos;
    Py_ssize_t left = it->length - at;
    uint64_t size = kind == 'T' ? 8 : 1;
    if (kind == 'F') {
        size = left < 4 ? 4 : 4 + (uint64_t)read_u32(it->data + at);
    }
    else if (kind == 's' && left > 0) {
        size = 1 + (uint64_t)it->data[at];
    }
    if (size > (uint64_t)left) {
        return 0;
    }
    *pos = at + (Py_ssize_t)size;
    switch (kind) {
    case 's':
        return text_of(it->data + at + 1, *pos - at - 1, NULL, value);
    case 'B':
        *value = PyLong_FromLong(it->data[at]);
        break;
    case 'T':
        *value = PyLong_FromUnsignedLongLong(read_u64(it->data + at));
        break;
    case 'F': {
        PyObject *values[2] = {octets_of(it, at + 4, *pos), rules};
        *value = values[0] == NULL ? NULL : make(table, values);
        Py_XDECREF(values[0]);
        break;
    }
    default:
        return 0;
    }
    return *value == NULL ? -1 : 1;
}

PyDoc_STRVAR(scan_properties_doc,
"scan_properties(raw, kinds, table, rules, into, maker, /)\n"
"--\n"
"\n"
"Set slots of `into` to the properties in these octets, flags first, and return True; False for what isn't usual, or\n"
"wrong, with nothing set.\n"
"\n"
"`kinds`: an octet for each property: s short string, F table, B octet, T timestamp. One that isn't there is None.\n"
"`table`: a maker of the octets of a table and `rules`. `maker`: one of records such as `into`, of all properties.\n"
"Raises TypeError for arguments of other types.");

static PyObject *
scan_properties(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    const struct maker *table = NULL;
    const struct maker *into = NULL;
    if (!takes("scan_properties", 6, nargs) || !reads("scan_properties", args[0]) || !reads("scan_properties", args[1])) {
        return NULL;
    }
    const unsigned char *kinds = (const unsigned char *)PyBytes_AS_STRING(args[1]);
    Py_ssize_t count = PyBytes_GET_SIZE(args[1]);
    if (!take_maker(module, args[2], 2, &table) || !take_maker(module, args[5], count, &into)) {
        return NULL;
    }
    if (table == NULL || into == NULL || count > MOST_PROPERTIES || PyTuple_GET_SIZE(into->rest) != 0
        || !PyObject_TypeCheck(args[4], into->type)) {
        PyErr_Format(PyExc_TypeError, "scan_properties takes makers, and a record of its class with at most %d fields",
                     MOST_PROPERTIES);
        return NULL;
    }
    struct unit it = {.data = (const unsigned char *)PyBytes_AS_STRING(args[0]), .length = PyBytes_GET_SIZE(args[0])};
    if (it.length < 2) {
        Py_RETURN_FALSE;
    }
    uint32_t flags = read_u16(it.data);
    Py_ssize_t pos = 2;
    PyObject *values[MOST_PROPERTIES] = {NULL};
    int status = (flags & (0xFFFFu >> count)) == 0;
    for (Py_ssize_t index = 0; index < count && status > 0; index++) {
        if (flags & (0x8000u >> index)) {
            status = read_property(kinds[index], table, args[3], &it, &pos, &values[index]);
        }
        else {
            values[index] = Py_NewRef(Py_None);
        }
    }
    if (status > 0 && pos != it.length) {
        status = 0;
    }
    for (Py_ssize_t index = 0; index < count && status > 0; index++) {
        /* Others may have the record: the interpreter sets it. */
        if (PyMember_SetOne((char *)args[4], into->slots[index], values[index]) < 0) {
            status = -1;
        }
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_XDECREF(values[index]);
    }
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* The lists of 1.0 */

enum {
    /* The most octets of a delivery-tag. */
    LONGEST_TAG = 32,
    /* The format code of a list with one octet for its size. */
    SHORT_LIST = 0xC0,
};

/* What the values of a list are read into. The references belong to the caller's tuple. */
struct plan {
    const unsigned char *kinds;
    Py_ssize_t count;
    PyObject *symbols;
    PyObject *symbol;
    PyObject *timestamp;
    PyObject *accepted;
};

/* The text of these octets; NULL without an exception where they aren't ASCII. */
static PyObject *
ascii_of(const unsigned char *octets, Py_ssize_t count)
{
    PyObject *text = PyUnicode_DecodeASCII((const char *)octets, count, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
    }
    return text;
}

/* The symbol of these octets: that of `symbols`, or what `symbol` makes of their text. Returns as `text_of`. */
static int
symbol_of(const struct plan *plan, const unsigned char *octets, Py_ssize_t count, PyObject **value)
{
    PyObject *raw = PyBytes_FromStringAndSize((const char *)octets, count);
    if (raw == NULL) {
        return -1;
    }
    *value = look_up(plan->symbols, raw);
    Py_DECREF(raw);
    if (*value != NULL) {
        return 1;
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *text = ascii_of(octets, count);
    if (text == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    *value = PyObject_CallOneArg(plan->symbol, text);
    Py_DECREF(text);
    return *value == NULL ? -1 : 1;
}

/* The value of a field that isn't there, or is null, borrowed; NULL where it is mandatory. */
static PyObject *
absent(unsigned char kind)
{
    return kind == 'U' || kind == 'B' ? NULL : kind == 'f' ? Py_False : Py_None;
}

/* The field whose constructor stands at `*pos`, and `*pos` behind it. Returns as `read_value`. */
static int
read_field(const struct plan *plan, unsigned char kind, const unsigned char *data, Py_ssize_t *pos, Py_ssize_t stop,
           PyObject **value)
{
    /* Octets of data by the constructor's first four bits; an unlisted one is none that any kind takes. */
    static const unsigned char sizes[16] = {[5] = 1, [7] = 4, [8] = 8};
    if (*pos >= stop) {
        return 0;
    }
    unsigned char code = data[*pos];
    Py_ssize_t at = *pos + 1;
    uint64_t size = sizes[code >> 4];
    if (code == 0x40) {
        *pos = at;
        *value = Py_XNewRef(absent(kind));
        return *value != NULL;
    }
    if (code == 0) {
        /* A described value; of these the accepted state alone is usual. */
        size = 3;
    }
    else if (code >> 4 == 0xA) {
        if (at == stop) {
            return 0;
        }
        size = data[at];
        at += 1;
    }
    else if (code >> 4 == 0xB) {
        if (stop - at < 4) {
            return 0;
        }
        size = read_u32(data + at);
        at += 4;
    }
    else if (code == 0x52 || code == 0x53) {
        size = 1;
    }
    if (size > (uint64_t)(stop - at)) {
        return 0;
    }
    const unsigned char *here = data + at;
    Py_ssize_t count = (Py_ssize_t)size;
    *pos = at + count;
    switch (kind) {
    case 'u':
    case 'U':
        if (code != 0x43 && code != 0x52 && code != 0x70) {
            return 0;
        }
        *value = PyLong_FromUnsignedLong(code == 0x43 ? 0 : code == 0x52 ? here[0] : read_u32(here));
        break;
    case 'b':
    case 'B':
    case 'f':
        if (code != 0x41 && code != 0x42 && (code != 0x56 || here[0] > 1)) {
            return 0;
        }
        *value = PyBool_FromLong(code == 0x56 ? here[0] : code == 0x41);
        break;
    case 'm':
        if (code != 0x50 || here[0] > 1) {
            return 0;
        }
        *value = PyLong_FromLong(here[0]);
        break;
    case 'd':
        if (code != 0xA0 || count > LONGEST_TAG) {
            return 0;
        }
        *value = PyBytes_FromStringAndSize((const char *)here, count);
        break;
    case 'a':
        if (code != 0 || here[0] != 0x53 || here[1] != 0x24 || here[2] != 0x45) {
            return 0;
        }
        *value = Py_NewRef(plan->accepted);
        break;
    case 'o':
        if (code != 0xA0 && code != 0xB0) {
            return 0;
        }
        *value = PyBytes_FromStringAndSize((const char *)here, count);
        break;
    case 's':
        return code == 0xA1 || code == 0xB1 ? text_of(here, count, NULL, value) : 0;
    case 'y':
        return code == 0xA3 || code == 0xB3 ? symbol_of(plan, here, count, value) : 0;
    case 't': {
        if (code != 0x83) {
            return 0;
        }
        PyObject *moment = signed_of(here);
        if (moment == NULL) {
            return -1;
        }
        *value = PyObject_CallOneArg(plan->timestamp, moment);
        Py_DECREF(moment);
        break;
    }
    case 'i':
        if (code == 0xA1) {
            return text_of(here, count, NULL, value);
        }
        if (code != 0x53 && code != 0x80 && code != 0xA0) {
            return 0;
        }
        *value = code == 0xA0 ? PyBytes_FromStringAndSize((const char *)here, count)
                              : PyLong_FromUnsignedLongLong(code == 0x53 ? here[0] : read_u64(here));
        break;
    default:
        return 0;
    }
    return *value == NULL ? -1 : 1;
}

/* The octets of a list or map at `*pos`, in front of `end`, whose format code with one octet for the size is `code`: the
   number of its fields, or of keys and values, where they end, and `*pos` at the first. Returns whether it is there, and
   whole. */
static int
open_compound(const unsigned char *data, unsigned char code, Py_ssize_t *pos, Py_ssize_t end, Py_ssize_t *stop,
              uint32_t *count)
{
    Py_ssize_t left = end - *pos;
    const unsigned char *at = data + *pos;
    if (left >= 3 && at[0] == code) {
        *count = at[2];
        *stop = *pos + 2 + at[1];
        *pos += 3;
        return *stop <= end;
    }
    if (left >= 9 && at[0] == (code | 0x10) && read_u32(at + 1) <= (uint64_t)left - 5) {
        *count = read_u32(at + 5);
        *stop = *pos + 5 + (Py_ssize_t)read_u32(at + 1);
        *pos += 9;
        return 1;
    }
    return 0;
}

PyDoc_STRVAR(scan_list_doc,
"scan_list(data, start, pos, end, plan, maker=None, /)\n"
"--\n"
"\n"
"The fields of the list of 1.0 at `pos` as a tuple, behind them the octets from `start` to its end, and where it ends.\n"
"None for what isn't usual, or wrong, and for octets that aren't bytes.\n"
"\n"
"`plan`: an octet for each field; symbols by their octets; symbol(text), for those that aren't among these;\n"
"timestamp(milliseconds); what the accepted state is. The octets: u uint, b boolean, f boolean that is False where it\n"
"isn't there, m settle mode, d delivery-tag, a accepted, o binary, s string, y symbol, t timestamp, i message id that is\n"
"no UUID, n null; U and B are mandatory. All others are None where they aren't there.\n"
"With a maker of the fields and the octets it gives the record that this makes, and where the list ends.\n"
"Raises what symbol and timestamp raise, TypeError for arguments of other types, OverflowError.");

static PyObject *
scan_list(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    const struct maker *maker = NULL;
    if (!takes("scan_list", nargs == 6 ? 6 : 5, nargs)) {
        return NULL;
    }
    Py_ssize_t places[3];
    if (!take_numbers(args + 1, places, 3)) {
        return NULL;
    }
    Py_ssize_t start = places[0];
    Py_ssize_t pos = places[1];
    Py_ssize_t end = places[2];
    PyObject *given = args[4];
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 5 || !PyBytes_Check(PyTuple_GET_ITEM(given, 0))
        || !PyDict_Check(PyTuple_GET_ITEM(given, 1))) {
        PyErr_Format(PyExc_TypeError, "scan_list's plan is a tuple of 5, bytes and a dict first, not %.100R", given);
        return NULL;
    }
    struct plan plan = {
        .kinds = (const unsigned char *)PyBytes_AS_STRING(PyTuple_GET_ITEM(given, 0)),
        .count = PyBytes_GET_SIZE(PyTuple_GET_ITEM(given, 0)),
        .symbols = PyTuple_GET_ITEM(given, 1),
        .symbol = PyTuple_GET_ITEM(given, 2),
        .timestamp = PyTuple_GET_ITEM(given, 3),
        .accepted = PyTuple_GET_ITEM(given, 4),
    };
    if (nargs == 6 && !take_maker(module, args[5], plan.count + 1, &maker)) {
        return NULL;
    }
    Py_ssize_t stop = 0;
    uint32_t count = 0;
    if (!PyBytes_Check(args[0]) || start < 0 || pos < start || end < pos || end > PyBytes_GET_SIZE(args[0])) {
        Py_RETURN_NONE;
    }
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    if (!open_compound(data, SHORT_LIST, &pos, end, &stop, &count) || count > (uint64_t)plan.count) {
        Py_RETURN_NONE;
    }
    PyObject *found = PyTuple_New(plan.count + 2);
    if (found == NULL) {
        return NULL;
    }
    int status = 1;
    for (Py_ssize_t index = 0; index < plan.count && status > 0; index++) {
        PyObject *value = NULL;
        if (index < (Py_ssize_t)count) {
            status = read_field(&plan, plan.kinds[index], data, &pos, stop, &value);
        }
        else {
            value = Py_XNewRef(absent(plan.kinds[index]));
            status = value != NULL;
        }
        if (status > 0) {
            PyTuple_SET_ITEM(found, index, value);
        }
    }
    if (status < 0) {
        goto fail;
    }
    if (status == 0 || pos != stop) {
        Py_DECREF(found);
        Py_RETURN_NONE;
    }
    PUT(found, plan.count, PyBytes_FromStringAndSize((const char *)data + start, stop - start));
    if (maker != NULL) {
        PyObject *record = make(maker, &PyTuple_GET_ITEM(found, 0));
        Py_DECREF(found);
        found = record == NULL ? NULL : PyTuple_New(2);
        if (found == NULL) {
            Py_XDECREF(record);
            return NULL;
        }
        PyTuple_SET_ITEM(found, 0, record);
        PUT(found, 1, PyLong_FromSsize_t(stop));
        return found;
    }
    PUT(found, plan.count + 1, PyLong_FromSsize_t(stop));
    return found;
fail:
    Py_DECREF(found);
    return NULL;
}

/* The maps of 1.0 */

enum {
    /* Their format codes, and those of what is in them most often. */
    SHORT_MAP = 0xC1,
    SHORT_BINARY = 0xA0,
    SHORT_STRING = 0xA1,
    SHORT_SYMBOL = 0xA3,
    /* The most keys and values of a map. */
    MOST_ENTRIES = 65536,
};

/* What makes the values that Python has no class for, each of one value. References belong to the caller's tuple. */
struct makers {
    PyObject *symbol;
    PyObject *timestamp;
    PyObject *int32;
    PyObject *uint32;
    PyObject *ulong64;
};

/* What `make` makes of a value, whose reference it takes. Returns as `read_value`. */
static int
made_of(PyObject *make, PyObject *of, PyObject **value)
{
    if (of == NULL) {
        return -1;
    }
    *value = PyObject_CallOneArg(make, of);
    Py_DECREF(of);
    return *value == NULL ? -1 : 1;
}

/* The value whose format code stands at `*pos`, in front of `stop`, and `*pos` behind it. Returns as `read_value`. */
static int
read_plain(const struct makers *it, const unsigned char *data, Py_ssize_t *pos, Py_ssize_t stop, PyObject **value)
{
    if (*pos >= stop) {
        return 0;
    }
    unsigned char code = data[*pos];
    Py_ssize_t at = *pos + 1;
    Py_ssize_t size = 0;
    switch (code) {
    case 0x40:
    case 0x41:
    case 0x42:
        break;
    case 0x52:
    case 0x53:
    case 0x54:
    case 0x55:
        size = 1;
        break;
    case 0x81:
    case 0x82:
    case 0x83:
        size = 8;
        break;
    case SHORT_BINARY:
    case SHORT_STRING:
    case SHORT_SYMBOL:
        if (at == stop) {
            return 0;
        }
        size = data[at];
        at += 1;
        break;
    default:
        return 0;
    }
    if (size > stop - at) {
        return 0;
    }
    const unsigned char *here = data + at;
    *pos = at + size;
    switch (code) {
    case 0x40:
        *value = Py_NewRef(Py_None);
        break;
    case 0x41:
    case 0x42:
        *value = PyBool_FromLong(code == 0x41);
        break;
    case 0x52:
        return made_of(it->uint32, PyLong_FromLong(here[0]), value);
    case 0x53:
        return made_of(it->ulong64, PyLong_FromLong(here[0]), value);
    case 0x54:
        return made_of(it->int32, PyLong_FromLong((long)here[0] - (here[0] & 0x80 ? 0x100 : 0)), value);
    case 0x55:
        *value = PyLong_FromLong((long)here[0] - (here[0] & 0x80 ? 0x100 : 0));
        break;
    case 0x81:
        *value = signed_of(here);
        break;
    case 0x82:
        *value = float_of(here, 8);
        break;
    case 0x83:
        return made_of(it->timestamp, signed_of(here), value);
    case SHORT_STRING:
        return text_of(here, size, NULL, value);
    case SHORT_SYMBOL: {
        PyObject *text = ascii_of(here, size);
        return text == NULL && !PyErr_Occurred() ? 0 : made_of(it->symbol, text, value);
    }
    default: /* SHORT_BINARY */
        *value = PyBytes_FromStringAndSize((const char *)here, size);
        break;
    }
    return *value == NULL ? -1 : 1;
}

/* The keys and values between `pos` and `stop` as a dict; each key is a short string or symbol, whose format code is
   `key`. Returns as `read_value`. */
static int
read_entries(const struct makers *it, const unsigned char *data, Py_ssize_t pos, Py_ssize_t stop, int key,
             PyObject **values)
{
    PyObject *found = PyDict_New();
    if (found == NULL) {
        return -1;
    }
    int status = 1;
    while (pos < stop && status > 0) {
        PyObject *name = NULL;
        PyObject *value = NULL;
        status = data[pos] == key ? read_plain(it, data, &pos, stop, &name) : 0;
        if (status > 0) {
            status = read_plain(it, data, &pos, stop, &value);
        }
        if (status > 0 && PyDict_SetItem(found, name, value) < 0) {
            status = -1;
        }
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    if (status <= 0) {
        Py_DECREF(found);
        return status;
    }
    *values = found;
    return 1;
}

PyDoc_STRVAR(scan_map_doc,
"scan_map(data, pos, end, key, makers, /)\n"
"--\n"
"\n"
"The map of 1.0 at `pos`, in front of `end`, as a dict, and where it ends. None for what isn't usual, or wrong, and for\n"
"octets that aren't bytes.\n"
"\n"
"`key` is the format code of all keys: 0xa1 for str, 0xa3 for symbols. `makers` make a symbol of its text, a timestamp of\n"
"milliseconds, and an int, uint and ulong. Raises what these raise, TypeError for arguments of other types,\n"
"OverflowError.");

static PyObject *
scan_map(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_map", 5, nargs)) {
        return NULL;
    }
    Py_ssize_t places[3];
    if (!take_numbers(args + 1, places, 3)) {
        return NULL;
    }
    PyObject *given = args[4];
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 5) {
        PyErr_Format(PyExc_TypeError, "scan_map's makers are a tuple of 5, not %.100R", given);
        return NULL;
    }
    struct makers makers = {
        .symbol = PyTuple_GET_ITEM(given, 0),
        .timestamp = PyTuple_GET_ITEM(given, 1),
        .int32 = PyTuple_GET_ITEM(given, 2),
        .uint32 = PyTuple_GET_ITEM(given, 3),
        .ulong64 = PyTuple_GET_ITEM(given, 4),
    };
    Py_ssize_t pos = places[0];
    Py_ssize_t end = places[1];
    Py_ssize_t key = places[2];
    if (!PyBytes_Check(args[0]) || pos < 0 || end < pos || end > PyBytes_GET_SIZE(args[0])
        || (key != SHORT_STRING && key != SHORT_SYMBOL)) {
        Py_RETURN_NONE;
    }
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    Py_ssize_t stop = 0;
    uint32_t count = 0;
    if (!open_compound(data, SHORT_MAP, &pos, end, &stop, &count) || pos > stop || count > MOST_ENTRIES) {
        Py_RETURN_NONE;
    }
    PyObject *values = NULL;
    int status = read_entries(&makers, data, pos, stop, (int)key, &values);
    if (status < 0) {
        return NULL;
    }
    /* A key that comes twice is left to the pure text. */
    if (status == 0 || 2 * (uint64_t)PyDict_GET_SIZE(values) != count) {
        Py_XDECREF(values);
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(Nn)", values, stop);
}

/* Rows of many units of 1.0 */

enum {
    /* Where the performative begins in a frame, and where the octets end that say which layout it may have. */
    PERFORMATIVE = 8,
    KNOWN_BY = 16,
    /* A data offset of two words, and the type of AMQP's frames. */
    PLAIN = 0x0200,
    UINT_1 = 0x52,
    UINT_4 = 0x70,
    /* The last octet of the descriptors of a message's sections. */
    SECTION_HEADER = 0x70,
    SECTION_APPLICATION_PROPERTIES = 0x74,
    SECTION_DATA = 0x75,
};

/* A performative that was read, as the caller keeps it: its octets around a number or two and a tag. */
struct layout {
    PyObject *of;
    /* In front of the first number, behind it, and behind what follows. */
    PyObject *around[3];
    int64_t handle;
    Py_ssize_t start;
    /* Octets of the first number, of the tag, and of the last number. */
    Py_ssize_t widths[3];
};

/* The octets of a number, by its format code. */
static Py_ssize_t
width_of(unsigned char code)
{
    return code == UINT_1 ? 1 : code == UINT_4 ? 4 : 0;
}

static uint32_t
read_number(const unsigned char *at, Py_ssize_t width)
{
    return width == 1 ? at[0] : read_u32(at);
}

static const unsigned char *
octets_in(PyObject *bytes)
{
    return (const unsigned char *)PyBytes_AS_STRING(bytes);
}

/* Takes the layout that `found` is, whose reference it has from the caller. Returns 0 with a TypeError where it is none;
   what it says needn't be true, but is about octets that it has. */
static int
take_layout(struct layout *it, PyObject *found)
{
    Py_XSETREF(it->of, found);
    int is_one = PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 8 && PyLong_Check(PyTuple_GET_ITEM(found, 4))
        && PyLong_Check(PyTuple_GET_ITEM(found, 5)) && PyUnicode_Check(PyTuple_GET_ITEM(found, 6))
        && PyUnicode_Check(PyTuple_GET_ITEM(found, 7));
    for (int index = 0; index < 3 && is_one; index++) {
        it->around[index] = PyTuple_GET_ITEM(found, index + 1);
        is_one = PyBytes_Check(it->around[index]);
    }
    if (!is_one || PyBytes_GET_SIZE(it->around[0]) == 0) {
        PyErr_Format(PyExc_TypeError, "a layout is a tuple of 8, not %.100R", found);
        return 0;
    }
    it->handle = PyLong_AsLongLong(PyTuple_GET_ITEM(found, 4));
    it->start = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, 5));
    if (PyErr_Occurred()) {
        return 0;
    }
    const unsigned char *between = octets_in(it->around[1]);
    Py_ssize_t count = PyBytes_GET_SIZE(it->around[1]);
    it->widths[0] = width_of(octets_in(it->around[0])[PyBytes_GET_SIZE(it->around[0]) - 1]);
    it->widths[1] = it->handle >= 0 && count == 2 ? between[1] : 0;
    it->widths[2] = it->handle < 0 && count == 1 ? width_of(between[0]) : 0;
    return 1;
}

/* Finds the layout of the frame at `pos`, if its octets aren't those that said so of the last one. Returns as `text_of`,
   0 also where there is none. */
static int
find_layout(struct layout *it, PyObject *layouts, const struct unit *unit, Py_ssize_t pos, struct kept *kept)
{
    const unsigned char *octets = unit->data + pos + PERFORMATIVE;
    if (kept->at != NULL && memcmp(kept->at, octets, KNOWN_BY - PERFORMATIVE) == 0) {
        return 1;
    }
    PyObject *key = octets_of(unit, pos + PERFORMATIVE, pos + KNOWN_BY);
    PyObject *found = key == NULL ? NULL : look_up(layouts, key);
    Py_XDECREF(key);
    if (found == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (!take_layout(it, found)) {
        return -1;
    }
    kept->at = octets;
    return 1;
}

/* Finds the frame at `pos`, which is like its layout but for the numbers and the tag; these are at `at` then. Returns
   whether it is whole, and at most `body_max` octets long. */
static int
find_frame(struct unit *it, const struct layout *layout, Py_ssize_t pos, Py_ssize_t *at)
{
    Py_ssize_t next = pos + PERFORMATIVE;
    uint32_t size = read_u32(it->data + pos);
    if ((int64_t)size > it->body_max || (uint64_t)size > (uint64_t)(it->length - pos)
        || read_u16(it->data + pos + 4) != PLAIN || layout->start < PERFORMATIVE || layout->start > (Py_ssize_t)size
        || layout->widths[0] == 0) {
        return 0;
    }
    Py_ssize_t stop = pos + layout->start;
    for (int index = 0; index < 3; index++) {
        Py_ssize_t count = PyBytes_GET_SIZE(layout->around[index]);
        if (count > stop - next || memcmp(it->data + next, octets_in(layout->around[index]), (size_t)count) != 0) {
            return 0;
        }
        at[index] = next + count;
        next += count + (index == 0 ? layout->widths[0] : index == 1 ? layout->widths[1] + layout->widths[2] : 0);
        if (next > stop) {
            return 0;
        }
    }
    it->number = read_u16(it->data + pos + 6);
    it->tag = read_number(it->data + at[0], layout->widths[0]);
    it->end = pos + (Py_ssize_t)size;
    return next == stop && (layout->handle >= 0 || it->end == stop);
}

/* Finds the message behind a transfer, from `start` to its end: sections in front of one of data, and where that one
   begins. Returns whether it is so. */
static int
find_message(struct unit *it, Py_ssize_t start)
{
    const unsigned char *data = it->data;
    Py_ssize_t at = start;
    while (it->end - at >= 5) {
        unsigned char code = data[at + 3];
        Py_ssize_t left = it->end - at;
        if (data[at] != 0 || data[at + 1] != 0x53) {
            return 0;
        }
        if (data[at + 2] == SECTION_DATA) {
            it->raw = start;
            it->raw_end = at;
            if (code == 0xA0) {
                it->size = data[at + 4];
                return left == 5 + (Py_ssize_t)it->size;
            }
            if (code != 0xB0 || left < 8) {
                return 0;
            }
            it->size = read_u32(data + at + 4);
            return (uint64_t)left == 8 + it->size;
        }
        if (data[at + 2] < SECTION_HEADER || data[at + 2] > SECTION_APPLICATION_PROPERTIES) {
            return 0;
        }
        uint64_t size = 4;
        if (code == SHORT_LIST || code == SHORT_MAP) {
            size = 5 + (uint64_t)data[at + 4];
        }
        else if ((code == (SHORT_LIST | 0x10) || code == (SHORT_MAP | 0x10)) && left >= 8) {
            size = 8 + (uint64_t)read_u32(data + at + 4);
        }
        else if (code != 0x45) {
            return 0;
        }
        if (size > (uint64_t)left) {
            return 0;
        }
        at += (Py_ssize_t)size;
    }
    return 0;
}

/* A delivery-tag as a member of a line has it. */
static PyObject *
tagged_of(const unsigned char *octets, Py_ssize_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[11 + 4 * (LONGEST_TAG / 3 + 1) + 2] = "{\"base64\":\"";
    char *at = text + 11;
    for (Py_ssize_t index = 0; index < count; index += 3) {
        Py_ssize_t left = count - index;
        uint32_t three = (uint32_t)octets[index] << 16 | (left > 1 ? (uint32_t)octets[index + 1] << 8 : 0)
            | (left > 2 ? (uint32_t)octets[index + 2] : 0);
        at[0] = digits[three >> 18];
        at[1] = digits[three >> 12 & 63];
        at[2] = left > 1 ? digits[three >> 6 & 63] : '=';
        at[3] = left > 2 ? digits[three & 63] : '=';
        at += 4;
    }
    at[0] = '"';
    at[1] = '}';
    return PyUnicode_DecodeASCII(text, at + 2 - text, NULL);
}

/* Whether the session of the unit is open, and of a transfer the link too. Returns -1 with an exception. */
static int
is_carried(struct rows *it, int64_t handle)
{
    int64_t key = (int64_t)it->unit.number << 32 | (handle < 0 ? UINT32_MAX : (uint32_t)handle);
    if (it->open == key) {
        return 1;
    }
    PyObject *both = Py_BuildValue("(kL)", (unsigned long)it->unit.number, (long long)handle);
    if (both == NULL) {
        return -1;
    }
    int found = PySet_Contains(it->channels, both);
    Py_DECREF(both);
    if (found > 0) {
        it->open = key;
    }
    return found;
}

/* Sets the values of the frame, whose numbers and tag are at `at`. Returns as `text_of`. */
static int
set_frame(struct rows *it, const struct layout *layout, Py_ssize_t pos, const Py_ssize_t *at)
{
    const struct unit *unit = &it->unit;
    it->numbers[CHANNEL] = unit->number;
    it->numbers[SIZE] = (uint64_t)(unit->end - pos);
    it->numbers[TAG] = unit->tag;
    it->numbers[BODY_SIZE] = unit->size;
    int status = set_object(it, BEFORE, Py_NewRef(PyTuple_GET_ITEM(layout->of, 6)));
    if (status > 0) {
        status = set_object(it, AFTER, Py_NewRef(PyTuple_GET_ITEM(layout->of, 7)));
    }
    if (status <= 0) {
        return status;
    }
    if (layout->handle >= 0) {
        status = set_object(it, TAGGED, tagged_of(unit->data + at[1], layout->widths[1]));
        return status > 0 ? set_text(it, MESSAGE, unit->raw, unit->raw_end - unit->raw) : status;
    }
    PyObject *last = layout->widths[2] == 0
        ? PyUnicode_New(0, 0)
        : PyUnicode_FromFormat(",\"last\":%lu", (unsigned long)read_number(unit->data + at[1], layout->widths[2]));
    return set_object(it, LAST, last);
}

PyDoc_STRVAR(scan_frames_doc,
"scan_frames(data, pos, most, room, layouts, base, stop, seq, opened, instant, plan, rows, /)\n"
"--\n"
"\n"
"Append the rows of the usual transfers and dispositions of 1.0 from `pos` on, as scan_rows does for other versions.\n"
"\n"
"A frame has at most `most` octets, and a transfer's payload `room`. `layouts` are by the eighth to sixteenth octets of a\n"
"frame: tuples of anything, the octets in front of the first number, behind it and behind the tag or the last number,\n"
"the handle (-1: a disposition), where the payload begins, and the texts before and after the numbers. `opened` has\n"
"pairs of channel and handle. `plan`: the forms of a transfer and a disposition, None, and as for scan_rows; texts are\n"
"those of the sections before a message's data. A form's values are those of scan_rows, and 15 and 16, texts before and\n"
"after, 17, the tag as JSON, 18, the last delivery; 4 is the first number, 6, 7 and 11 to 13 are none.\n"
"Raises as scan_rows does.");

static PyObject *
scan_frames(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t pos = 0;
    uint64_t places[3];
    if (!takes("scan_frames", 12, nargs) || !reads("scan_frames", args[0]) || place_of("scan_frames", args[1], &pos) < 0
        || read_places(args + 5, places) < 0) {
        return NULL;
    }
    uint64_t later = 0;
    struct layout layout = {.of = NULL};
    struct kept kept = {.at = NULL};
    struct rows it = {
        .unit = {.data = (const unsigned char *)PyBytes_AS_STRING(args[0]), .length = PyBytes_GET_SIZE(args[0])},
    };
    if (bound_of(args[2], &it.unit.body_max) < 0 || bound_of(args[3], &it.most) < 0) {
        return NULL;
    }
    if (!PyDict_Check(args[4])) {
        PyErr_Format(PyExc_TypeError, "scan_frames takes a dict of layouts, not %.100R", args[4]);
        return NULL;
    }
    int status = read_plan(&it, "scan_frames", args + 8);
    while (status >= 0 && it.unit.length - pos >= KNOWN_BY) {
        Py_ssize_t at[3];
        status = find_layout(&layout, args[4], &it.unit, pos, &kept);
        if (status <= 0) {
            break;
        }
        it.unit.size = 0;
        if (!find_frame(&it.unit, &layout, pos, at) || layout.widths[1] > LONGEST_TAG) {
            break;
        }
        PyObject *form = it.forms[layout.handle >= 0 ? 0 : 1];
        Py_ssize_t start = pos + layout.start;
        if (form == Py_None
            || (layout.handle >= 0 && ((int64_t)(it.unit.end - start) > it.most || !find_message(&it.unit, start)))) {
            break;
        }
        status = is_carried(&it, layout.handle);
        if (status <= 0) {
            break;
        }
        if (places[0] + (uint64_t)it.unit.end > places[1]) {
            later = places[0] + (uint64_t)it.unit.end;
            break;
        }
        it.numbers[SEQ] = places[2];
        it.numbers[OFFSET] = places[0] + (uint64_t)pos;
        status = set_frame(&it, &layout, pos, at);
        if (status > 0 && PyTuple_GET_SIZE(form) > 0) {
            status = append_row(&it, form) < 0 ? -1 : 1;
        }
        if (status <= 0) {
            break;
        }
        pos = it.unit.end;
        places[2] += 1;
    }
    Py_XDECREF(layout.of);
    return end_rows(&it, status, pos, places[2], later);
}

static PyMethodDef functions[] = {
    {"maker", (PyCFunction)(void (*)(void))maker, METH_FASTCALL, maker_doc},
    {"scan_content", (PyCFunction)(void (*)(void))scan_content, METH_FASTCALL, scan_content_doc},
    {"scan_frames", (PyCFunction)(void (*)(void))scan_frames, METH_FASTCALL, scan_frames_doc},
    {"scan_list", (PyCFunction)(void (*)(void))scan_list, METH_FASTCALL, scan_list_doc},
    {"scan_map", (PyCFunction)(void (*)(void))scan_map, METH_FASTCALL, scan_map_doc},
    {"scan_properties", (PyCFunction)(void (*)(void))scan_properties, METH_FASTCALL, scan_properties_doc},
    {"scan_rows", (PyCFunction)(void (*)(void))scan_rows, METH_FASTCALL, scan_rows_doc},
    {"scan_table", (PyCFunction)(void (*)(void))scan_table, METH_FASTCALL, scan_table_doc},
    {NULL, NULL, 0, NULL},
};

static int
begin_module(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    state->maker = (PyTypeObject *)PyType_FromModuleAndSpec(module, &maker_spec, NULL);
    return state->maker == NULL ? -1 : 0;
}

static int
traverse_module(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->maker);
    return 0;
}

static int
clear_module(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->maker);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)begin_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "amqp_sansio._speedups",
    .m_doc = "Octets in, plain Python values out: what the pure text does in more steps.",
    .m_size = sizeof(struct state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse_module,
    .m_clear = clear_module,
};

PyMODINIT_FUNC
PyInit__speedups(void)
{
    return PyModuleDef_Init(&definition);
}
