// Reads an OTLP message by OpenTelemetry's own decoder and compares it with the JSON of the same message. Prints the former.
//
//   node decode-otlp.js NODE_MODULES metrics|logs|trace FILE.pb FILE.json
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');

const [modules, signal, binary, json] = process.argv.slice(2);
const root = require(path.resolve(modules, '@opentelemetry/otlp-transformer/build/src/generated/root.js'));
const name = signal[0].toUpperCase() + signal.slice(1);
const type = root.opentelemetry.proto.collector[signal].v1[`Export${name}ServiceRequest`];

const bytes = fs.readFileSync(binary);
const message = type.decode(bytes);
const problem = type.verify(message);
assert.strictEqual(problem, null, problem);
// Nothing in it that the decoder does not know: written again it is as long.
assert.strictEqual(type.encode(message).finish().length, bytes.length);

// Ids are random, so the two files have different ones; bytes are compared by their length.
const hex = (key, value) => {
	if (key === 'traceId' || key === 'spanId')
		return typeof value === 'string' ? value.length / 2 : value.data ? value.data.length : value.length;
	return value;
};
const plain = (object) => JSON.parse(JSON.stringify(object), hex);
const options = { longs: String, enums: Number, bytes: Array };
const decoded = plain(type.toObject(message, options));
const other = plain(JSON.parse(fs.readFileSync(json, 'utf8')));

// Lists without elements stand in JSON alone.
const prune = (value) => {
	if (Array.isArray(value))
		return value.map(prune);
	if (value === null || typeof value !== 'object')
		return value;
	return Object.fromEntries(Object.entries(value).filter(([, v]) => !(Array.isArray(v) && v.length === 0))
		.map(([k, v]) => [k, prune(v)]));
};
assert.deepStrictEqual(prune(decoded), prune(other));
console.log(JSON.stringify(decoded));
