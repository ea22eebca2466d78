// test-setup.ts: runs before every test file, also where several share a process.
import { afterEach } from 'vitest'
import { endTest } from './after-each-test.ts'

afterEach(endTest)
