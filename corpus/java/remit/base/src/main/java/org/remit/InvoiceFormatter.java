package org.remit;

import java.util.Map;

/** Invoices as text of 48 columns. */
public class InvoiceFormatter {
    private static final int WIDTH = 48;

    public String format(Invoice invoice) {
        StringBuilder out = new StringBuilder();
        out.append("Invoice ").append(invoice.number()).append('\n');
        out.append("-".repeat(WIDTH)).append('\n');
        for (Line line : invoice.lines()) {
            row(out, line.quantity() + " x " + line.text(), line.net());
        }
        out.append("-".repeat(WIDTH)).append('\n');
        if (!invoice.net().equals(invoice.subtotal())) {
            row(out, "Discount", invoice.net().minus(invoice.subtotal()));
        }
        row(out, "Net", invoice.net());
        for (Map.Entry<TaxRate, Money> tax : invoice.taxes().entrySet()) {
            row(out, "Tax " + tax.getKey().label(), tax.getValue());
        }
        row(out, "Total", invoice.total());
        return out.toString();
    }

    private void row(StringBuilder out, String text, Money money) {
        String amount = money.toString();
        int room = WIDTH - amount.length() - 1;
        String label = text.length() > room ? text.substring(0, room - 1) + "~" : text;
        out.append(label).append(" ".repeat(WIDTH - label.length() - amount.length())).append(amount).append('\n');
    }
}
