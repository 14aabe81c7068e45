// The little of node that the tests use; its own types are larger than everything else here.

declare module "node:test" {
  export function test(name: string, body: () => void | Promise<void>): void;
  export function afterEach(body: () => void): void;
  export function beforeEach(body: () => void): void;
}

declare module "node:assert/strict" {
  interface Assert {
    (value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    throws(body: () => unknown, expected?: RegExp | object): void;
  }
  const assert: Assert;
  export default assert;
}

/** Bytes of base64. */
declare const Buffer: { from(text: string, encoding: "base64"): Uint8Array };
