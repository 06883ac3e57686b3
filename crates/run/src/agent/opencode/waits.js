// Says when opencode waits for its provider: `opencode run` itself keeps silent until it gives up.
export const acquit = async () => ({
  event: async ({ event }) => {
    if (event.type !== "session.status" || event.properties.status.type !== "retry") return
    const { status } = event.properties
    process.stdout.write(JSON.stringify({ type: event.type, status }) + "\n")
  },
})
