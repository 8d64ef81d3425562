'use strict';
// A reporter for `node --test`: one line of JSON for each test, suites not, with the names of what it stands in.

const path = require('node:path');

module.exports = async function* outcomes(source) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      // A file is a test too, if it has none; its name may be its path.
      names[data.nesting] = path.isAbsolute(data.name) ? path.relative(process.cwd(), data.name) : data.name;
    } else if ((type === 'test:pass' || type === 'test:fail') && data.details.type !== 'suite') {
      const error = data.details.error;
      const skipped = data.skip !== undefined || data.todo !== undefined;
      yield JSON.stringify({
        name: names.slice(0, data.nesting + 1).join(' > '),
        how: type === 'test:fail' ? 'failed' : skipped ? 'skipped' : 'passed',
        reason: error ? String(error.cause?.message ?? error.message) : String(data.skip ?? data.todo ?? ''),
      }) + '\n';
    }
  }
};
