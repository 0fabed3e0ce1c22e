import { expect, it } from 'vitest';
import { Encoding } from './turn-record.ts';

it('gives each encoding the number that is stored', () => {
  expect(Encoding).toEqual({
    bytes: 0,
    msgpack: 1,
    json: 2,
    text: 3,
    cbor: 4,
    protobuf: 5,
    flatbuffers: 6,
    capnp: 7,
    gob: 8,
  });
});
